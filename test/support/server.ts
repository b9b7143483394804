import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { DIST } from './built';

const ROOT = join(DIST, '..');
const PROGRAM = join(DIST, 'src/main.js');
const AFFILOG = [process.execPath, PROGRAM];

/** The exit code and the output of a run of the program. */
export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Makes a new folder in the system's temporary folder. */
export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'affilog-test-'));
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Starts a command in the project's folder. */
function launch(
  [program = '', ...args]: readonly string[],
  environment: Readonly<Record<string, string>>,
  output: 'pipe' | number = 'pipe',
): ChildProcess {
  if (!existsSync(PROGRAM)) throw new Error('the program is not built: run "npm run build" before this test');
  const env = { PATH: process.env.PATH ?? '', ...environment };
  return spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', output, output] });
}

/** Runs the built program as users do and waits for its end. */
export async function runProgram(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<ProgramResult> {
  return runCommand([...AFFILOG, ...args], environment);
}

/** Runs a shell command in which `$AFFILOG` is the built program. */
export async function runShell(command: string): Promise<ProgramResult> {
  return runCommand(['/bin/sh', '-c', command], { AFFILOG: AFFILOG.join(' ') });
}

async function runCommand(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ProgramResult> {
  const child = launch(command, environment);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/**
 * Runs the built program until its standard error matches, or it ends; then kills it. Returns what it has written
 * there.
 */
export async function runUntilError(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  expected: RegExp,
): Promise<string> {
  const child = launch([...AFFILOG, ...args], environment);
  const errors = collect(child.stderr);
  const ended = once(child, 'close');
  await new Promise<void>((resolve) => {
    child.stderr?.on('data', () => {
      if (expected.test(errors.join(''))) resolve();
    });
    void ended.then(() => resolve());
  });
  child.kill('SIGKILL');
  await ended;
  return errors.join('');
}

/**
 * Starts the built server and stops it as soon as a request is answered with a reason to wait that matches, or by 200.
 */
export async function stopDuringStart(
  dataDir: string,
  reason: RegExp,
  environment: Readonly<Record<string, string>> = {},
): Promise<ProgramResult> {
  const port = await freePort();
  const settings = { LOG_LEVEL: 'error', PORT: `${port}`, DATA_DIR: dataDir, ...environment };
  const child = launch([...AFFILOG, 'serve'], settings);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const ended = once(child, 'close');
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
    if (answer?.ok === true || reason.test((await answer?.text()) ?? '') || child.exitCode !== null) break;
  }
  child.kill('SIGTERM');
  const [code] = (await ended) as [number | null];
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** A server in its own process, on a free port. */
export class Server {
  private constructor(
    private readonly child: ChildProcess,
    /** Empty if it does not listen. */
    readonly url: string,
    /** What it has written to stdout so far. */
    readonly stdoutLines: readonly string[],
    private readonly errors: readonly string[],
  ) {}

  /** Starts the built program; resolves when it prints that it listens or runs, or with `output`, when it answers. */
  static async start(
    dataDir: string,
    options: {
      readonly args?: readonly string[];
      /** Another command to start it with. */
      readonly command?: readonly string[];
      readonly environment?: Readonly<Record<string, string>>;
      /** A file descriptor for stdout and stderr; `stdoutLines` and `stderr` stay empty then. */
      readonly output?: number;
    } = {},
  ): Promise<Server> {
    const { args = [], command = [...AFFILOG, 'serve'], output } = options;
    const port = output === undefined ? 0 : await freePort();
    const environment = { LOG_LEVEL: 'warn', PORT: `${port}`, DATA_DIR: dataDir, ...options.environment };
    const child = launch([...command, ...args], environment, output);
    const errors = collect(child.stderr);
    const stdoutLines: string[] = [];
    if (output !== undefined) {
      const url = `http://127.0.0.1:${port}`;
      await untilItAnswers(url, child);
      return new Server(child, url, stdoutLines, errors);
    }
    const lines = createInterface({ input: child.stdout ?? process.stdin });
    const url = await new Promise<string>((resolve, reject) => {
      lines.on('line', (line) => {
        stdoutLines.push(line);
        const found = /^listening on (http:\S+)$|^running /.exec(line);
        if (found !== null) resolve(found[1] ?? '');
      });
      child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${errors.join('')}`)));
    });
    return new Server(child, url, stdoutLines, errors);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get stderr(): string {
    return this.errors.join('');
  }

  /** Resolves with the exit code when it ends by itself. */
  get ended(): Promise<number | null> {
    return once(this.child, 'close').then(([code]) => code as number | null);
  }

  /** Stops reading its output: its pipes fill up, or are closed. */
  stopReading(how: 'unread' | 'closed'): void {
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (how === 'closed') stream?.destroy();
      else stream?.removeAllListeners('data').pause();
    }
  }

  /** Sends a signal, waits for the end and returns the exit code. */
  async end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const [exited, closed] = [once(this.child, 'exit'), once(this.child, 'close')];
    this.child.kill(signal);
    const [code] = (await exited) as [number | null];
    // An unread pipe is never closed.
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.resume();
    await closed;
    return code;
  }
}

/** Tokens of `networkFile`. */
export const ADVERTISER = 'a'.repeat(40);
export const PUBLISHER = 'b'.repeat(40);
/** For claims. */
export const CLAIM_TOKENS = { advertiser: '1'.repeat(40), publisher: '2'.repeat(40) } as const;

/** One advertiser with feeds 22 and 23, one publisher; categories map by their ids. */
export const NETWORK = {
  organisations: [
    { id: 1, kind: 'advertiser', name: 'Seller' },
    { id: 11, kind: 'publisher', name: 'Reader' },
  ],
  tokens: [
    { token: ADVERTISER, organisationId: 1, system: 'PRODUCTS' },
    { token: PUBLISHER, organisationId: 11, system: 'PRODUCTS', siteId: 1101 },
    { token: CLAIM_TOKENS.advertiser, organisationId: 1, system: 'CLAIMS' },
    { token: CLAIM_TOKENS.publisher, organisationId: 11, system: 'CLAIMS' },
  ],
  programs: [
    {
      id: 101,
      organisationId: 1,
      name: 'Seller DE',
      country: 'DE',
      currency: 'EUR',
      logoUrl: 'https://seller.example/logo.png',
      status: 'active',
      acceptsClaims: false,
      daysToAutoApprove: null,
      events: [],
    },
  ],
  sites: [{ id: 1101, organisationId: 11, name: 'reader.example', url: 'https://reader.example/' }],
  connections: [{ siteId: 1101, programId: 101 }],
  feeds: [22, 23].map((id) => ({
    id,
    programIds: [101],
    name: `Feed ${id}`,
    language: 'de',
    active: true,
    visible: true,
    secret: false,
  })),
  categories: [{ id: '1', parentId: null, names: { en: 'Things' } }],
  mappings: [],
};

/**
 * Folders with a network, by its text: made once for all test files of this process, since an import
 * takes a process, and copied.
 */
const shared = globalThis as { foldersWithNetworks?: Map<string, Promise<string>> };
const FOLDERS = (shared.foldersWithNetworks ??= new Map<string, Promise<string>>());

/** Makes a data folder with a network imported. */
export async function folderWithNetwork(
  environment: Readonly<Record<string, string>> = {},
  network: object = NETWORK,
): Promise<string> {
  const text = JSON.stringify(network);
  if (Object.keys(environment).length > 0) return await importedFolder(environment, text);
  const imported = FOLDERS.get(text) ?? importedFolder({}, text);
  FOLDERS.set(text, imported);
  const folder = await temporaryFolder();
  await cp(await imported, folder, { recursive: true });
  return folder;
}

async function importedFolder(
  environment: Readonly<Record<string, string>>,
  network: string,
): Promise<string> {
  const folder = await temporaryFolder();
  const file = join(folder, 'network.json');
  await writeFile(file, network);
  const imported = await runProgram(['network', 'import', file], { DATA_DIR: folder, ...environment });
  const { code, stderr } = imported;
  if (code !== 0) throw new Error(`the network import failed: ${stderr}`);
  return folder;
}

/**
 * A server over a data folder of its own, for the tests of a file or block, or for each of them. It must end with 0.
 */
export function ownServer({
  each = false,
  network = NETWORK,
  environment = {},
}: {
  readonly each?: boolean;
  readonly network?: object;
  readonly environment?: Readonly<Record<string, string>>;
} = {}) {
  let folder: string;
  let server: Server;
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<void> => {
    server = await Server.start(folder, { environment: { ...environment, ...more } });
  };
  const [before, after] = each ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(async () => {
    folder = await folderWithNetwork(environment, network);
    await start();
  });
  after(async () => {
    expect(await server.end()).toBe(0);
    await removeFolder(folder);
  });
  return {
    get folder(): string {
      return folder;
    },
    get server(): Server {
      return server;
    },
    /** Starts it again after its end, with more settings. */
    start,
  };
}

/** Posts products to feed 22. */
export function postProducts(url: string, products: readonly unknown[]): Promise<Response> {
  return fetch(`${url}/1.0/products;fid=22?token=${ADVERTISER}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ products }),
  });
}

/** How many products a publisher finds in feed 22. */
export async function foundProducts(url: string): Promise<number> {
  const answer = await fetch(`${url}/1.0/products;fid=22?token=${PUBLISHER}`);
  return ((await answer.json()) as { productHeader: { totalHits: number } }).productHeader.totalHits;
}

/** A TCP port that nobody uses. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function untilItAnswers(url: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    // While it starts, this is answered 503.
    const answer = await fetch(`${url}/docs`).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error(`the server ended with ${child.exitCode}`);
}

function collect(stream: NodeJS.ReadableStream | null): string[] {
  const parts: string[] = [];
  stream?.on('data', (part: Buffer) => parts.push(part.toString()));
  return parts;
}
