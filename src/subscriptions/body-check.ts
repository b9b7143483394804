import { compiledBody, UnusableTemplate } from '../notifications/matching/compiled-template';
import { type ReceiverFormat } from '../notifications/subscription';
import { type Template } from '../notifications/template';

/** Why a body would not be in its format, whatever values its placeholders have (`docs/decisions.md#n10`); undefined if it would. */
export function bodyProblem(template: Template, format: ReceiverFormat): string | undefined {
  try {
    compiledBody(template, format);
    return undefined;
  } catch (error) {
    if (error instanceof UnusableTemplate) return error.message;
    throw error;
  }
}
