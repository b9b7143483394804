// Generates clients that are not development dependencies, and uses them against the demonstration network: of orval,
// whose packages ask for a newer Node.js than ours, openapi-python-client, openapi-generator (for Java), oapi-codegen
// (for Go), and NSwag (for C#). Downloads them; needs Python 3.11, Java 17 and Maven, Go 1.24, and for NSwag a Mono
// with its C# compiler (`mono-devel` of Debian), since its package has builds for the .NET Framework. What cannot be
// installed is named as skipped, which is a failure if it was asked for by name, or if nothing else is left.
//
//   npm run test:clients [orval|python|java|go|csharp]
import { execFile, spawn } from 'node:child_process';
import { deepStrictEqual } from 'node:assert';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ORVAL = ['orval@8.38.0', 'typescript@5.9.3', '@types/node@22.15.0'];
const PYTHON = 'openapi-python-client==0.29.1';
const JAVA = 'org.openapitools:openapi-generator-cli:7.17.0';
const GO = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const NSWAG = 'nswag@14.7.1';
const GO_RUNTIME = 'github.com/oapi-codegen/runtime@v1.9.0';

const HERE = dirname(fileURLToPath(import.meta.url));
const execute = promisify(execFile);
const run = (program, args, options) => execute(program, args, { maxBuffer: 2 ** 26, ...options });

/** What a generator or its client needs is not installed here, and cannot be. */
class NotInstalled extends Error {}

/** Runs what installs something. */
const install = (...command) =>
  run(...command).catch(({ stderr, message }) => {
    const [reason] = (stderr || message).trim().split('\n').slice(-1);
    throw new NotInstalled(`${command[0]}: ${reason}`);
  });

const CLIENTS = {
  orval: async (folder) => {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    await install('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...ORVAL], {
      cwd: folder,
    });
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
    await install('python3', ['-m', 'venv', 'venv'], { cwd: folder });
    const bin = join(folder, 'venv/bin');
    await install(join(bin, 'pip'), ['install', '--quiet', PYTHON], { cwd: folder });
    const generate = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', 'generated'];
    const { stdout } = await run(join(bin, 'openapi-python-client'), generate, { cwd: folder });
    process.stderr.write(stdout);
    for (const file of ['python_client.py', 'python_claims.py'])
      await copyFile(join(HERE, 'usage', file), join(folder, file));
    return [join(bin, 'python'), 'python_client.py'];
  },
  java: async (folder) => {
    const maven = (...args) => install('mvn', ['-q', '-B', ...args], { cwd: folder });
    await maven('dependency:copy', `-Dartifact=${JAVA}`, '-DoutputDirectory=.', '-Dmdep.stripVersion=true');
    const options = 'useSingleRequestParameter=true,openApiNullable=false,hideGenerationTimestamp=true';
    const only = 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';
    const args = [
      '-i',
      'openapi.json',
      '-o',
      '.',
      '--additional-properties',
      options,
      '--global-property',
      only,
    ];
    await run('java', ['-jar', 'openapi-generator-cli.jar', 'generate', '-g', 'java', ...args], {
      cwd: folder,
    });
    await maven('dependency:build-classpath', '-Dmdep.outputFile=classpath.txt');
    const usage = ['JavaClient.java', 'JavaClaims.java'];
    for (const file of usage) await copyFile(join(HERE, 'usage', file), join(folder, file));
    const classpath = `built:${await readFile(join(folder, 'classpath.txt'), 'utf8')}`;
    const sources = await readdir(join(folder, 'src/main/java'), { recursive: true });
    const files = sources.filter((file) => file.endsWith('.java')).map((file) => join('src/main/java', file));
    const compile = ['-nowarn', '-encoding', 'UTF-8', '-cp', classpath, '-d', 'built', ...files, ...usage];
    await run('javac', compile, { cwd: folder });
    return ['java', '-Dfile.encoding=UTF-8', '-cp', classpath, 'JavaClient'];
  },
  go: async (folder) => {
    const bin = join(folder, 'bin');
    const go = (...args) => run('go', args, { cwd: folder, env: { ...process.env, GOBIN: bin } });
    await install('go', ['install', GO], { cwd: folder, env: { ...process.env, GOBIN: bin } });
    await mkdir(join(folder, 'generated'));
    const options = ['-package', 'generated', '-generate', 'types,client', '-o', 'generated/client.go'];
    await run(join(bin, 'oapi-codegen'), [...options, 'openapi.json'], { cwd: folder });
    for (const file of ['client.go', 'claims.go'])
      await copyFile(join(HERE, 'usage', file), join(folder, file));
    await go('mod', 'init', 'clients');
    await go('get', GO_RUNTIME);
    await go('build', '-o', 'client', '.');
    return [join(folder, 'client')];
  },
  csharp: async (folder) => {
    await install('mcs', ['--version']);
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    await install('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', NSWAG], { cwd: folder });
    const nswag = join(folder, 'node_modules/nswag/bin/binaries/Win');
    // Without nullable properties it sends values that were never set, such as a time of the year 1.
    const options = ['OptionalParameters', 'OptionalPropertiesAsNullable'].map(
      (one) => `/generate${one}:true`,
    );
    const files = ['/input:openapi.json', '/output:Client.cs', '/namespace:Generated', '/wrapResponses:true'];
    await run('mono', [join(nswag, 'NSwag.exe'), 'openapi2csclient', ...files, ...options], { cwd: folder });
    const usage = ['CsharpClient.cs', 'CsharpClaims.cs'];
    for (const file of usage) await copyFile(join(HERE, 'usage', file), join(folder, file));
    await copyFile(join(nswag, 'Newtonsoft.Json.dll'), join(folder, 'Newtonsoft.Json.dll'));
    const libraries = ['Newtonsoft.Json', 'System.Net.Http', 'System.ComponentModel.DataAnnotations'];
    const references = [...libraries, 'System.Runtime.Serialization'].map((name) => `-r:${name}.dll`);
    const compile = ['-warn:0', '-langversion:7.2', '-out:client.exe', ...references, 'Client.cs', ...usage];
    await run('mcs', compile, { cwd: folder });
    return ['mono', join(folder, 'client.exe')];
  },
};

/** What a client cannot leave out, since its language has no optional parameters. */
const UNSENT = { java: ['missing'], go: ['missing'], csharp: ['missing'] };

/** What a client cannot read: that of NSwag takes every text for JSON. */
const UNREAD = { csharp: ['csv'] };

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
const skipped = [];
const folder = await mkdtemp(join(tmpdir(), 'affilog-clients-'));
const { server, env } = await startDemo(join(folder, 'data'));
try {
  const description = await (await fetch(`${env.BASE_URL}/1.0/openapi.json`)).text();
  for (const name of names) {
    const own = join(folder, name);
    await mkdir(own);
    await writeFile(join(own, 'openapi.json'), description);
    const command = await CLIENTS[name](own).catch((error) => {
      if (!(error instanceof NotInstalled)) throw error;
      process.stdout.write(`${name}: SKIPPED, cannot be installed: ${error.message}\n`);
      skipped.push(name);
    });
    if (command === undefined) continue;
    const [program, ...args] = command;
    const { stdout } = await run(program, args, {
      cwd: own,
      env: { ...env, FEED: '1001', CATEGORY: '221', NOW: String(Date.now()), ORDER: name },
    });
    const { downloaded, ...seen } = JSON.parse(stdout);
    const claims = { ...EXPECTED.claims };
    for (const unsent of UNSENT[name] ?? []) delete claims[unsent];
    const expected = { ...EXPECTED, claims, downloaded: true };
    for (const unread of UNREAD[name] ?? []) delete expected[unread];
    deepStrictEqual({ ...seen, downloaded: downloaded.includes('Käse & Wein, 1/2') }, expected);
    process.stdout.write(
      `${name}: ${JSON.stringify({ ...seen, downloaded: downloaded.length })}, as expected\n`,
    );
  }
} finally {
  server.kill();
  await once(server, 'exit');
  await rm(folder, { recursive: true, force: true });
}
if (skipped.length === names.length || (wanted.length > 0 && skipped.length > 0)) process.exitCode = 1;
