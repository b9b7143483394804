import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import { ADVERTISER_TOKEN, networkFile, PUBLISHER_TOKEN } from './network';
import { memoryGrowth, memoryOf } from './process-memory';
import { ended, launch, type Settings } from './program';
import { CONTENT_TYPES } from '../src/wire/api/format';
import { type FeedText } from './products';

const TYPES: Readonly<Record<FeedText, string>> = { ...CONTENT_TYPES, google: CONTENT_TYPES.xml };

/** Of the kernel, a second. */
const TICKS = 100;
/** Seconds of processor time in a second that a server takes that has nothing to do, at most. */
const IDLE = 0.1;

/** The server as users run it: its own process, accessed over HTTP on the loopback interface. */
export class Server {
  private readonly agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

  private constructor(
    private readonly child: ChildProcess,
    readonly origin: string,
    private readonly dataDir: string,
    private readonly settings: Settings = {},
    /** What it has printed before it listened. */
    readonly shown = '',
  ) {}

  /**
   * Starts it with a data folder (a new one gets this network first) and some roles; without `projector` nothing is
   * projected.
   */
  static async start(
    dataDir: string,
    roles: string,
    settings: Settings = {},
    networkText = networkFile(),
  ): Promise<Server> {
    const made = await mkdir(dataDir, { recursive: true, mode: 0o700 });
    if (made !== undefined) {
      const network = join(dataDir, 'network.json');
      await writeFile(network, networkText);
      await ended(launch(dataDir, ['network', 'import', network], settings));
    }
    const child = launch(dataDir, ['serve', '--roles', roles], settings);
    const { origin, shown } = await startOf(child);
    return new Server(child, origin, dataDir, settings, shown);
  }

  /** Starts it like `npm start`, with the demo in an empty folder. */
  static async startDemo(dataDir: string): Promise<Server> {
    const child = launch(dataDir, ['serve', '--demo']);
    return new Server(child, (await startOf(child)).origin, dataDir);
  }

  /** Runs another command of the program with the same folder and settings. */
  async affilog(...args: readonly string[]): Promise<void> {
    await ended(launch(this.dataDir, args, this.settings));
  }

  /** Posts products to a feed; they are durable when it is answered. */
  async post(feed: number, format: FeedText, body: Readable | string, keys = ''): Promise<string> {
    const path = `/1.0/products;fid=${feed}${keys}?token=${ADVERTISER_TOKEN}`;
    const headers = { 'content-type': TYPES[format] };
    const answer = await request(`${this.origin}${path}`, {
      method: 'POST',
      headers,
      body: typeof body === 'string' ? createReadStream(body, { highWaterMark: 1024 * 1024 }) : body,
      dispatcher: this.agent,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`the post was answered ${answer.statusCode}: ${text}`);
    return String(answer.headers['x-log-position']);
  }

  /** Posts a small JSON body; returns the position. Raises unless it is answered 200 or 201. */
  async postJson(
    path: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const answer = await request(`${this.origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
      body: JSON.stringify(body),
      dispatcher: this.agent,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200 && answer.statusCode !== 201)
      throw new Error(`${path} was answered ${answer.statusCode}: ${text}`);
    return String(answer.headers['x-log-position']);
  }

  /** Gets a path; raises for any answer but 200. */
  async get(path: string): Promise<string> {
    const answer = await this.answerTo(path);
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}: ${text}`);
    return text;
  }

  /** Gets a path and discards the body; returns `X-Next-Since`. */
  async take(path: string): Promise<string> {
    const answer = await this.answerTo(path);
    // Without a limit, `dump` would stop early.
    await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER });
    if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}`);
    return String(answer.headers['x-next-since']);
  }

  /** Gets a path; the caller must read the body stream to its end. */
  async stream(path: string): Promise<Readable> {
    const answer = await this.answerTo(path);
    if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}`);
    return answer.body;
  }

  /** Waits until searches show everything up to a position. */
  async shows(position: string, search = `/1.0/products;fid=1?token=${PUBLISHER_TOKEN}`): Promise<void> {
    for (;;) {
      const answer = await this.answerTo(search, { 'x-min-position': position });
      await answer.body.dump();
      if (answer.statusCode === 200) return;
    }
  }

  /** Seconds of processor time that it has used, all threads together. */
  processorSeconds(): number {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  }

  /** Waits until it has nothing to do: what it merges after a large load takes time from whoever comes next. */
  async rests(): Promise<void> {
    for (let before = -Infinity, now = this.processorSeconds(); now - before > IDLE;) {
      await pause(1000);
      [before, now] = [now, this.processorSeconds()];
    }
  }

  /** Peak resident memory so far, in MB. */
  peakMemory(): number {
    return memoryOf(this.child.pid ?? 0, 'VmHWM');
  }

  /** Returns a function for the growth, from now on, of peak resident memory in MB. */
  memoryGrowth(): () => number {
    return memoryGrowth(this.child.pid ?? 0);
  }

  /** The file of its event log. */
  get logFile(): string {
    return join(this.dataDir, 'log.sqlite');
  }

  /** Ends it as a crash does. */
  async kill(): Promise<void> {
    await this.agent.close();
    this.child.kill('SIGKILL');
    if (this.child.exitCode === null) await once(this.child, 'exit');
  }

  async stop(): Promise<void> {
    await this.agent.close();
    this.child.kill('SIGTERM');
    if (this.child.exitCode === null) await once(this.child, 'exit');
  }

  private answerTo(
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Dispatcher.ResponseData> {
    return request(`${this.origin}${path}`, { headers: { ...headers }, dispatcher: this.agent });
  }
}

/** The URL that the server prints, empty if it serves nothing over HTTP, and what it prints before. */
async function startOf(child: ChildProcess): Promise<{ readonly origin: string; readonly shown: string }> {
  if (child.stdout === null) throw new Error('expected a pipe for the output of the server');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    const started = /listening on (http:\S+)|^running /.exec(line);
    if (started === null) continue;
    child.stdout.resume();
    return { origin: started[1] ?? '', shown: lines.join('\n') };
  }
  throw new Error('the server ended before it listened');
}
