import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { runCli } from '../../src/cli/run-cli';
import { cliFolder, run } from './run';

const { settings, pathOf } = cliFolder();

const ENDLESS = 'SELECT count(*) AS n FROM range(1000000000000)';
const CTRL_C = '\u0003';

/** `affilog sql` in a terminal. */
class Prompt {
  private readonly stdin = Object.assign(new PassThrough(), { isTTY: true });
  private readonly screen = Object.assign(new PassThrough(), { isTTY: true });
  private readonly errors = new PassThrough();
  private shown = '';
  readonly ended: Promise<number>;

  constructor() {
    for (const output of [this.screen, this.errors])
      output.on('data', (part: Buffer) => (this.shown += part.toString()));
    this.ended = runCli(['sql'], {
      environment: settings(),
      stdin: this.stdin,
      stdout: this.screen,
      stderr: this.errors,
      stopSignal: () => new AbortController().signal,
      start: () => Promise.reject(new Error('unexpected start')),
      threads: false,
    });
  }

  type(text: string): void {
    this.shown = '';
    this.stdin.write(text);
  }

  /** Waits until this is on the screen since something was typed last. */
  async shows(text: string): Promise<void> {
    while (!this.shown.includes(text)) await turn();
  }
}

describe('Ctrl+C (decisions X115)', () => {
  it('interrupts the statement of a prompt, or discards what is typed, and ends a prompt where nothing is', async () => {
    const prompt = new Prompt();
    await prompt.shows('sql> ');
    prompt.type(`${ENDLESS};\r`);
    await prompt.shows(';');
    // The line is taken from the terminal before the next key.
    await turn();
    prompt.type(CTRL_C);
    await prompt.shows('affilog: interrupted\n');
    await prompt.shows('sql> ');
    prompt.type('SELECT 6 * 7 AS a;\r');
    await prompt.shows('42');
    await prompt.shows('sql> ');
    prompt.type('SELECT nothing\r');
    await prompt.shows('...> ');
    prompt.type(`FROM nowhere${CTRL_C}`);
    await prompt.shows('^C\n');
    await prompt.shows('sql> ');
    prompt.type('SELECT 7 * 7 AS b;\r');
    await prompt.shows('49');
    await prompt.shows('sql> ');
    prompt.type(CTRL_C);
    expect(await prompt.ended).toBe(0);
  }, 60_000);

  it.each(['json', 'parquet'] as const)(
    'interrupts a statement to a file, which is not there then (%s)',
    async (format) => {
      const stopping = new AbortController();
      const out = pathOf(`answer.${format}`);
      const running = run(['sql', ENDLESS, '--out', out], settings(), { stopping });
      await turn();
      stopping.abort();
      const { code, err } = await running;
      expect([code, err.split('\n').find((line) => line.startsWith('affilog: '))]).toEqual([
        1,
        expect.stringMatching(/^affilog: interrupted/),
      ]);
      expect(existsSync(out)).toBe(false);
      expect((await readdir(pathOf('.'))).filter((name) => name.includes('answer'))).toEqual([]);
    },
    60_000,
  );
});
