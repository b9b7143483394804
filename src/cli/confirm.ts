import { createInterface } from 'node:readline';
import { type CliContext } from './settings';

/** A command needs a confirmation, and there is no terminal to ask on. */
class NotConfirmed extends Error {
  override readonly name = 'NotConfirmed';
}

/** The answer to the question was no. */
class Declined extends Error {
  override readonly name = 'Declined';
}

/**
 * Asks on the terminal whether to continue. For commands with `--yes`, and `--dry-run` unless said otherwise, before they have
 * changed anything. `what` will happen: "2 to be removed". Raises `Declined`, and without a terminal `NotConfirmed`.
 */
export async function confirm(
  { stdin, stderr, stopSignal }: CliContext,
  what: string,
  hasDryRun = true,
): Promise<void> {
  if (stdin?.isTTY !== true) {
    const dryRun = hasDryRun ? ', or --dry-run to only see it' : '';
    throw new NotConfirmed(`${what}: nothing has been changed; add --yes to confirm${dryRun}`);
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  const answer = await new Promise<string>((resolve) => {
    terminal.once('line', resolve);
    terminal.once('close', () => resolve(''));
    stopSignal().addEventListener('abort', () => terminal.close(), { once: true });
    terminal.setPrompt(`${what}. Continue? [y/N] `);
    terminal.prompt();
  }).finally(() => terminal.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new Declined('nothing has been changed');
}
