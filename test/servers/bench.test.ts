import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DIST } from '../support/built';
import { serverUrl } from './server';

it('the benchmark compares projecting into and searching Elasticsearch with its bare client', async () => {
  const args = [join(DIST, 'bench/main.js'), 'es-project', 'es-search', '--count', '200', '--json'];
  const env = { ...process.env, TEST_READ_STORE: serverUrl() };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  const lines = stdout.trim().split('\n');
  const [project, ...searches] = lines.map((line) => JSON.parse(line) as { figure: string; ratio: number });
  expect(project).toMatchObject({ figure: 'es-project', goal: 0.8 });
  // Ten kinds of search, each with its median and 99th percentile, and four orders of all products, grouped.
  expect(searches.filter(({ figure }) => figure.startsWith('es-search '))).toHaveLength(24);
  for (const { ratio } of [project!, ...searches]) expect(ratio).toBeGreaterThan(0);
});

it('no search fails or has parts of two generations while a rebuild is swapped in, and rolled back (decisions X126)', async () => {
  const args = [join(DIST, 'bench/main.js'), 'es-swap', '--count', '500', '--json'];
  const env = { ...process.env, TEST_READ_STORE: serverUrl() };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout).toContain('"es-swap searches"');
}, 600_000);
