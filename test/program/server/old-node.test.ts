import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { engines } from '../../../package.json';
import { nodeProblem } from '../../../src/app/node-version';
import { DIST } from '../../support/built';

const PROGRAM = join(DIST, 'src/main.js');

test('a Node.js that is too old is refused by one line, before anything else is loaded', async () => {
  const preload = join(__dirname, '../../support/old-node.cjs');
  const ended = await new Promise((resolve) => {
    execFile(process.execPath, ['-r', preload, PROGRAM, 'serve'], (error, stdout, stderr) =>
      resolve({ code: error?.code, stdout, stderr }),
    );
  });
  expect(ended).toEqual({
    code: 1,
    stdout: '',
    stderr: 'affilog: Node.js 18.19.1 is too old: expected 20.19 or later\n',
  });
});

test('what an old Node.js has to parse uses no newer syntax', () => {
  for (const file of ['src/main.js', 'src/app/node-version.js'])
    expect(readFileSync(join(DIST, file), 'utf8')).not.toMatch(
      /\?\?|\?\.|#\w+[ =(;]|\|\|=|&&=|\bstatic \{|\d_\d/,
    );
});

test.each([
  ['20.19.0', undefined],
  ['20.19.5', undefined],
  ['22.0.0', undefined],
  ['100.0.0', undefined],
  ['20.18.3', 'Node.js 20.18.3 is too old: expected 20.19 or later'],
  ['8.17.0', 'Node.js 8.17.0 is too old: expected 20.19 or later'],
])('Node.js %s: %s', (version, problem) => {
  expect(nodeProblem(version, engines.node)).toBe(problem);
});
