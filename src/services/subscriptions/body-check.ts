import { compiledBody, UnusableTemplate } from '../../domain/subscriptions/compiled-template';
import { type ReceiverFormat } from '../../domain/subscriptions/subscription';
import { type Template } from '../../domain/subscriptions/template';

/**
 * Why a body would not be in its format, in UTF-8, whatever values its placeholders have (`docs/decisions.md#n10`); undefined if
 * it would.
 */
export function bodyProblem(template: Template, format: ReceiverFormat): string | undefined {
  try {
    compiledBody(template, format);
    return encodingProblem(template, format);
  } catch (error) {
    if (error instanceof UnusableTemplate) return error.message;
    throw error;
  }
}

/** Not checked when messages are made: bodies that were accepted before this check are sent as they are. */
function encodingProblem([first]: Template, format: ReceiverFormat): string | undefined {
  const beginning = first?.is === 'text' ? first.text : '';
  switch (format) {
    case 'JSON':
      return beginning.startsWith('\ufeff')
        ? 'it begins with a byte order mark, U+FEFF; expected none'
        : undefined;
    case 'XML':
      return declarationProblem(beginning);
    case 'custom':
      return undefined;
  }
}

const DECLARATION = /^\ufeff?<\?xml\s([^>]*)\?>/;

/** `xml`: the beginning of a well-formed document. */
function declarationProblem(xml: string): string | undefined {
  const declaration = DECLARATION.exec(xml)?.[1] ?? '';
  const valueOf = (name: string): string | undefined =>
    new RegExp(`\\b${name}\\s*=\\s*["']([^"']*)["']`).exec(declaration)?.[1];
  const [version, encoding] = [valueOf('version'), valueOf('encoding')];
  if (version !== undefined && version !== '1.0')
    return `its XML declaration has version ${version}; expected 1.0`;
  if (encoding !== undefined && encoding.toUpperCase() !== 'UTF-8')
    return `its XML declaration has encoding ${encoding}; expected UTF-8, or none`;
  return undefined;
}
