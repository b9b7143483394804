import { createInterface } from 'node:readline/promises';
import { type CliContext } from './settings';

/** The operator has not agreed to a dangerous step, or could not be asked. */
class NotConfirmed extends Error {
  override readonly name = 'NotConfirmed';
}

/** Asks on a terminal whether to continue, unless `yes` is given. Raises `NotConfirmed`. */
export async function confirm(
  { stdin, stderr }: Pick<CliContext, 'stdin' | 'stderr'>,
  question: string,
  yes: boolean,
): Promise<void> {
  if (yes) return;
  if (stdin.isTTY !== true)
    throw new NotConfirmed('nothing was changed: --yes is required without a terminal');
  stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: stdin });
  for await (const line of lines) {
    if (/^y(es)?$/i.test(line.trim())) return;
    break;
  }
  throw new NotConfirmed('nothing was changed');
}
