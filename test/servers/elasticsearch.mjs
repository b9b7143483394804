/**
 * A real Elasticsearch for as long as a command runs: `npm run elasticsearch -- <command…>` runs it with
 * TEST_READ_STORE naming the server and ends with its exit code; without a command the server runs until Ctrl-C.
 * ES_JAVA_OPTS are its own: with `-XX:TieredStopAtLevel=1` what runs for minutes takes half the time of its processors.
 * Where TEST_READ_STORE names one already, that one is used and nothing is started.
 *
 * Needs Java 17 or later and Maven, which gets the server once; without them this fails. It listens on the loopback
 * interface alone, its data is thrown away, and it ends with this process, however that ends.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import '../support/in-memory.cjs';

/** Which one; 9 and later need Java 21. */
const VERSION = process.env.ELASTICSEARCH_VERSION || '8.19.2';
const ARTIFACT = `org.elasticsearch.distribution.integ-test-zip:elasticsearch:${VERSION}:zip`;
const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack';
const START_MS = 180_000;

/** The server does not run as root: then it runs as nobody. */
const NOBODY = 65534;
const IS_ROOT = process.getuid?.() === 0;

/** Unknown settings would stop the start: these are known to the bare server as well as to the whole one. */
const settings = (folder) => `
cluster.name: affilog-test
node.name: one
path.data: ${join(folder, 'data')}
path.logs: ${join(folder, 'logs')}
network.host: 127.0.0.1
http.port: 0
transport.port: 0
node.portsfile: true
discovery.type: single-node
discovery.initial_state_timeout: 0s
xpack.security.enabled: false
cluster.routing.allocation.disk.threshold_enabled: false
cluster.max_shards_per_node: 5000
indices.breaker.total.use_real_memory: false
node.processors: 2
action.auto_create_index: false
`;

const JVM = '-XX:+UseG1GC\n-Djava.io.tmpdir=${ES_TMPDIR}\n-XX:+ExitOnOutOfMemoryError\n';

const LOGGING = `
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
`;

/** Where the server's own output goes. */
const SAID = 'said.log';

class Unusable extends Error {}

/** Starts it; the URL of the server, and what ends it. */
async function start() {
  const java = javaHome();
  const home = await unpacked();
  const folder = await mkdtemp(join(tmpdir(), 'affilog-elasticsearch-'));
  for (const name of ['config', 'data', 'logs', 'tmp']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'config/elasticsearch.yml'), settings(folder));
  await writeFile(join(folder, 'config/jvm.options'), JVM);
  await writeFile(join(folder, 'config/log4j2.properties'), LOGGING);
  if (IS_ROOT)
    for (const path of ['', 'config', 'data', 'logs', 'tmp']) await chown(join(folder, path), NOBODY, NOBODY);
  const said = await open(join(folder, SAID), 'w');
  const server = spawn(join(home, 'bin/elasticsearch'), [], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      HOSTNAME: 'localhost',
      ES_JAVA_HOME: java,
      ES_PATH_CONF: join(folder, 'config'),
      ES_TMPDIR: join(folder, 'tmp'),
      ES_JAVA_OPTS: `-Xms512m -Xmx512m ${process.env.ES_JAVA_OPTS ?? ''}`,
    },
    stdio: ['ignore', said.fd, said.fd],
    ...(IS_ROOT ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  const ended = once(server, 'exit');
  await said.close();
  const end = endWithUs(server, folder);
  try {
    return { url: await ready(server, folder), ended, end };
  } catch (error) {
    process.stderr.write(await lastWords(folder));
    await end();
    throw error;
  }
}

/**
 * Ends the server and removes its folder on request, or when this process ends, even by a SIGKILL: a shell waits for
 * the end of its input, which no other process has open.
 */
function endWithUs(server, folder) {
  const script = 'trap "" INT TERM HUP; cat; kill "$0"; while kill -0 "$0"; do sleep 0.1; done; rm -rf "$1"';
  const shell = spawn('sh', ['-c', script, String(server.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const done = once(shell, 'exit');
  return async () => {
    shell.stdin.end();
    await done;
  };
}

/** Waits until it answers. It writes its port to a file. */
async function ready(server, folder) {
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    if (server.exitCode !== null)
      throw new Unusable(`the server has ended with exit code ${server.exitCode}`);
    const ports = await readFile(join(folder, 'logs/http.ports'), 'utf8').catch(() => '');
    const [address] = ports.split('\n').filter((line) => line.startsWith('127.'));
    if (address !== undefined) {
      const url = `http://${address}`;
      const health = await fetch(`${url}/_cluster/health?wait_for_status=yellow&timeout=5s`).catch(
        () => undefined,
      );
      if (health?.status === 200) return url;
    }
    await pause(200);
  }
  throw new Unusable(`the server was not ready after ${START_MS / 1000} s`);
}

/** The last of what the server has said. */
async function lastWords(folder) {
  return (await readFile(join(folder, SAID), 'utf8')).slice(-5000);
}

/** Where Java is: the server wants its folder named. */
function javaHome() {
  const { status, stderr } = spawnSync('java', ['-XshowSettings:properties', '-version'], {
    encoding: 'utf8',
  });
  const home = /java\.home = (.+)/.exec(stderr ?? '')?.[1];
  const version = Number(/java\.specification\.version = (\d+)/.exec(stderr ?? '')?.[1]);
  if (status !== 0 || home === undefined) throw new Unusable('there is no Java (17 or later is needed)');
  if (version < 17) throw new Unusable(`Java is version ${version}: 17 or later is needed`);
  return home;
}

/** The folder of the server, fetched by Maven on first use. Another user must be able to read it. */
async function unpacked() {
  const cache = process.env.XDG_CACHE_HOME || (IS_ROOT ? '/var/cache' : join(homedir(), '.cache'));
  const folder = join(cache, 'affilog', `elasticsearch-integ-test-${VERSION}`);
  const found = await homeIn(folder);
  if (found !== undefined) return found;
  if (spawnSync('mvn', ['-v']).status !== 0)
    throw new Unusable('there is no Maven (mvn) to get Elasticsearch with');
  await mkdir(dirname(folder), { recursive: true });
  const partial = await mkdtemp(`${folder}-`);
  try {
    process.stderr.write(`getting Elasticsearch ${VERSION} …\n`);
    const got = spawn('mvn', ['-q', '-B', UNPACK, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${partial}`], {
      // Without a project, the plugin leaves a folder `${project.basedir}` where it runs.
      cwd: partial,
      stdio: ['ignore', process.stderr, process.stderr],
    });
    const [code] = await once(got, 'exit');
    if (code !== 0) throw new Unusable(`Maven could not get ${ARTIFACT}`);
    await chmod(partial, 0o755);
    // Someone else may have been faster: then theirs is as good.
    await rename(partial, folder).catch(() => undefined);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  const home = await homeIn(folder);
  if (home === undefined) throw new Unusable(`${ARTIFACT} is not what was expected`);
  return home;
}

async function homeIn(folder) {
  const names = await readdir(folder).catch(() => []);
  const name = names.find((entry) => entry.startsWith('elasticsearch-'));
  return name === undefined ? undefined : join(folder, name);
}

/** Runs a command to its end; the exit code. */
async function run([command, ...args], url) {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, TEST_READ_STORE: url } });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, 'exit').catch((error) => {
    throw new Unusable(`${command}: ${error.message}`);
  });
  return code ?? 1;
}

async function main(command) {
  const given = process.env.TEST_READ_STORE;
  if (given) {
    if (command.length > 0) return await run(command, given);
    process.stdout.write(`TEST_READ_STORE names ${given} already\n`);
    return 0;
  }
  const asked = ['SIGINT', 'SIGTERM'].map((signal) => once(process, signal));
  const { url, ended, end } = await start();
  try {
    if (command.length > 0) return await run(command, url);
    process.stdout.write(`Elasticsearch ${VERSION}: TEST_READ_STORE=${url}\n`);
    const stopped = await Promise.race([
      ...asked.map((signal) => signal.then(() => true)),
      ended.then(() => false),
    ]);
    return stopped ? 0 : 1;
  } finally {
    await end();
  }
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error) => {
    process.stderr.write(`elasticsearch: ${error instanceof Unusable ? error.message : error.stack}\n`);
    process.exitCode = 1;
  },
);
