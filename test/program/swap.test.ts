import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DIST } from '../support/built';

/** 20,000 events; `npm run bench -- swap` has a million. */
const COUNT = '2000';

it('no search fails or has parts of two generations while a rebuild is swapped in, and rolled back (decisions X126, X128)', async () => {
  // It raises if one does.
  const args = [join(DIST, 'bench/main.js'), 'swap', '--count', COUNT, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const figures = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly figure: string }).figure);
  expect(figures).toEqual(
    ['lag before', 'searches before', 'lag', 'searches', 'estimate', 'rollback'].map(
      (name) => `swap ${name}`,
    ),
  );
}, 900_000);
