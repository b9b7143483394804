// Generates clients that are not development dependencies, and uses them against the demonstration network: of orval, whose
// packages ask for a newer Node.js than ours, and of openapi-python-client. Downloads both; needs Python 3.11.
//
//   npm run test:clients [orval|python]
import { execFile, spawn } from 'node:child_process';
import { deepStrictEqual } from 'node:assert';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ORVAL = ['orval@8.38.0', 'typescript@5.9.3', '@types/node@22.15.0'];
const PYTHON = 'openapi-python-client==0.29.1';

const HERE = dirname(fileURLToPath(import.meta.url));
const execute = promisify(execFile);
const run = (program, args, options) => execute(program, args, { maxBuffer: 2 ** 26, ...options });

const CLIENTS = {
  orval: async (folder) => {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...ORVAL], { cwd: folder });
    const generate =
      "import { generate } from 'orval';" +
      "await generate({ input: { target: 'openapi.json' }, output: { target: 'generated.ts', client: 'fetch' } });";
    await run(process.execPath, ['--input-type=module', '--eval', generate], { cwd: folder });
    for (const file of ['example.ts', 'example-claims.ts', 'orval.ts', 'orval-claims.ts'])
      await copyFile(join(HERE, 'usage', file), join(folder, file));
    const options = '--strict --noUncheckedIndexedAccess --skipLibCheck --module Node16 --target ES2022';
    const tsc = join(folder, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, ...options.split(' '), 'orval.ts'], { cwd: folder });
    return [process.execPath, 'orval.js'];
  },
  python: async (folder) => {
    await run('python3', ['-m', 'venv', 'venv'], { cwd: folder });
    const bin = join(folder, 'venv/bin');
    await run(join(bin, 'pip'), ['install', '--quiet', PYTHON], { cwd: folder });
    const generate = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', 'generated'];
    const { stdout } = await run(join(bin, 'openapi-python-client'), generate, { cwd: folder });
    process.stderr.write(stdout);
    for (const file of ['python_client.py', 'python_claims.py'])
      await copyFile(join(HERE, 'usage', file), join(folder, file));
    return [join(bin, 'python'), 'python_client.py'];
  },
};

/** What each client prints. */
const EXPECTED = JSON.parse(await readFile(join(HERE, 'expected.json'), 'utf8'));

/** Starts a server with the demonstration network: resolves to its address and the tokens that it prints. */
async function startDemo(dataDir) {
  const program = join(HERE, '../../dist/src/main.js');
  const server = spawn(process.execPath, [program, 'serve', '--demo'], {
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const env = {};
  for await (const line of createInterface({ input: server.stdout })) {
    for (const [, name, token] of line.matchAll(/(\w+)=([0-9a-f]{40})/g)) env[name] = token;
    const [, url] = /^listening on (\S+)$/.exec(line) ?? [];
    if (url !== undefined) env.BASE_URL = url;
    if (env.BASE_URL !== undefined && env.CLAIM_PUBLISHER !== undefined) return { server, env };
  }
  throw new Error('the server has not started: is it built?');
}

const wanted = process.argv.slice(2);
const names = wanted.length === 0 ? Object.keys(CLIENTS) : wanted;
const folder = await mkdtemp(join(tmpdir(), 'affilog-clients-'));
const { server, env } = await startDemo(join(folder, 'data'));
try {
  const description = await (await fetch(`${env.BASE_URL}/1.0/openapi.json`)).text();
  for (const name of names) {
    const own = join(folder, name);
    await mkdir(own);
    await writeFile(join(own, 'openapi.json'), description);
    const [program, ...args] = await CLIENTS[name](own);
    const { stdout } = await run(program, args, {
      cwd: own,
      env: { ...env, FEED: '1001', CATEGORY: '221', NOW: String(Date.now()), ORDER: name },
    });
    const { downloaded, ...seen } = JSON.parse(stdout);
    deepStrictEqual(
      { ...seen, downloaded: downloaded.includes('Käse & Wein, 1/2') },
      { ...EXPECTED, downloaded: true },
    );
    process.stdout.write(
      `${name}: ${JSON.stringify({ ...seen, downloaded: downloaded.length })}, as expected\n`,
    );
  }
} finally {
  server.kill();
  await once(server, 'exit');
  await rm(folder, { recursive: true, force: true });
}
