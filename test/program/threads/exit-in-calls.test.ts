import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { DIST } from '../../support/built';
import { storeFolder } from '../../support/store-folder';

const PROGRAM = join(__dirname, '../../support/exit-in-calls.cjs');

interface Ended {
  readonly code: number | string;
  readonly signal: string | undefined;
  readonly stderr: string;
}

function run(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, DIST, ...args], (error, _, stderr) =>
      resolve({ code: error?.code ?? 0, signal: error?.signal ?? undefined, stderr }),
    );
  });
}

describe('a process that ends while a thread calls SQLite is not aborted (decisions X81)', () => {
  test.each([
    ['exit', 'short', 3, /^$/],
    ['exit', 'long', 3, /^$/],
    ['throw', 'short', 1, /Error: a bug/],
    ['throw', 'long', 1, /Error: a bug/],
  ])('by %s, in %s calls', async (how, calls, code, stderr) => {
    const { directory, remove } = await storeFolder();
    for (let n = 0; n < 3; n += 1) {
      const ended = await run(`${directory}.sqlite`, how, calls);
      expect(ended).toEqual({ code, signal: undefined, stderr: expect.stringMatching(stderr) as string });
    }
    await remove();
  });
});
