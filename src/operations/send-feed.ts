import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable, type Transform } from 'node:stream';
import { constants, createGunzip, createGzip, gunzipSync } from 'node:zlib';
import { Agent, type Dispatcher, errors, interceptors, request } from 'undici';
import { EngineUnavailable } from '../kernel/event-log';
import { Fault } from '../kernel/fault';
import { defined } from '../kernel/values';
import { type Progress, ProgressMeter } from '../projector/progress-meter';
import { type Clock } from '../runtime/clock';
import { isAbort } from '../runtime/unavailable';
import { encodingOf, inUtf8 } from '../services/products/load/ingest/feed-body';
import { CONTENT_TYPES, encodingOfFile, type FileFormat, formatOfFile } from '../wire/api/format';
import { beginningOf, EncodedDecoder, encodingNamed, isGzip, markedEncoding } from '../wire/bytes';
import { CommandError, UsageError } from './command-error';

/** `google`: a Google Merchant feed, in XML or as rows. */
export type SentFormat = FileFormat | 'google';

/** What is sent of a source is counted in KB; then the server stores it. */
export interface SendProgress extends Progress {
  readonly phase: 'send' | 'store';
}

export interface SendFeed {
  /** Address of the API, such as `https://api.example/`. */
  readonly server: string;
  readonly token: string;
  readonly feedId: number;
  /** By default it is recognised. */
  readonly format?: SentFormat | undefined;
  /** Columns that are read as if they had another name: `name:title`. */
  readonly map: readonly string[];
  /** Between columns of CSV; by default that of the header. */
  readonly separator?: string | undefined;
  /** What the source is encoded in; by default what it, or its server, says. */
  readonly charset?: string | undefined;
  /** What the source does not have is removed. */
  readonly replace: boolean;
  readonly dryRun: boolean;
}

interface SendParts {
  readonly clock: Clock;
  /** What `-` is. */
  readonly stdin: AsyncIterable<Buffer | string>;
  readonly onProgress: (progress: SendProgress) => void;
  /** Called before a further attempt. */
  readonly onRetry: (message: string) => void;
  readonly signal: AbortSignal;
}

interface SentFault {
  readonly code: string;
  readonly sourceProductId?: string;
  readonly message: string;
}

/** What the server has done, or would do. */
export interface SentFeed {
  /** Absent if nothing was stored. */
  readonly loadId?: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly ignoredFields?: string;
  /** Of refused products. */
  readonly faults: readonly SentFault[];
}

/** Attempts if the server or the network fails, and pauses before each further one (ms). */
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Sends a file, a URL or standard input (`-`) to a feed, as its advertiser, over HTTP (`docs/decisions.md#p37`): in one
 * post, compressed, in constant memory. It is loaded when all of it has arrived and was checked, or not at all; what is
 * stored already changes nothing, so after any failure it is sent again. Raises `CommandError` for what the server
 * refuses as a whole, and for a source that breaks off.
 */
export async function sendFeed(source: string, feed: SendFeed, parts: SendParts): Promise<SentFeed> {
  const { clock, onRetry, signal } = parts;
  const agent = new Agent({ headersTimeout: ANSWER_MS, bodyTimeout: SILENCE_MS });
  try {
    for (let attempt = 1; ; attempt += 1) {
      const sent = await attemptOf(agent, source, feed, parts);
      if (!('failure' in sent)) return sent;
      const { failure, pause = FIRST_PAUSE_MS * 2 ** (attempt - 1) } = sent;
      // What was read of standard input is gone.
      if (attempt === ATTEMPTS || source === '-') throw new CommandError(failure);
      const ms = Math.min(pause, LONGEST_PAUSE_MS);
      onRetry(`${failure}: it is sent again in ${Math.ceil(ms / 1000)} s`);
      await clock.pause(ms, signal);
      signal.throwIfAborted();
    }
  } finally {
    await agent.destroy();
  }
}

/** How long the server may check and store a feed, and any server may be silent within an answer (ms). */
const ANSWER_MS = 60 * 60_000;
const SILENCE_MS = 60_000;

/** What may succeed at another time. */
interface SendFailure {
  readonly failure: string;
  /** How long the server asks to wait (ms). */
  readonly pause?: number;
}

async function attemptOf(
  agent: Agent,
  source: string,
  feed: SendFeed,
  { clock, stdin, onProgress, signal }: SendParts,
): Promise<SentFeed | SendFailure> {
  const meter = new ProgressMeter(clock);
  let file: SourceFile | undefined;
  try {
    file = await opened(agent, source, stdin, signal);
    const { size } = file;
    let read = 0;
    const show = (phase: SendProgress['phase']): void =>
      onProgress({ phase, ...meter.at(size === undefined || size === 0 ? 0 : Math.min(1, read / size)) });
    const declared = feed.charset === undefined ? file.encoding : encodingNamed(feed.charset);
    const { bytes, format, isGzip, encoding } = await recognised(file, feed.format, declared);
    const counted = async function* (): AsyncGenerator<Buffer> {
      for await (const chunk of bytes) {
        read += chunk.length;
        meter.count(Math.ceil(chunk.length / 1024));
        show('send');
        yield chunk;
      }
      show('store');
    };
    const isUtf8 = encoding === 'utf-8';
    const body =
      isGzip && isUtf8
        ? Readable.from(counted())
        : compressed(isUtf8 ? counted() : inUtf8(isGzip ? decompressed(counted()) : counted(), encoding));
    const headers = {
      authorization: `Bearer ${feed.token}`,
      accept: 'application/json',
      'content-type': CONTENT_TYPES[format],
      'content-encoding': 'gzip',
    };
    const options = { method: 'POST', headers, body, signal, dispatcher: agent } as const;
    return await answerOf(await request(targetOf(feed), options));
  } catch (error) {
    if (isAbort(error) || error instanceof CommandError) throw error;
    if (error instanceof Fault) throw new CommandError(`the source: ${error.message}`);
    if (isDamaged(error)) throw new CommandError(`the source cannot be decompressed: ${error.message}`);
    if (file?.failure !== undefined) return { failure: `the source: ${file.failure}` };
    if (!(error instanceof errors.UndiciError) && codeOfSystem(error) === undefined) throw error;
    return { failure: `the server cannot be reached, or broke off: ${(error as Error).message}` };
  }
}

/** `ECONNREFUSED` and others, without those of files. */
function codeOfSystem(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^E(CONN|HOST|NET|PIPE|AI_|TIMEDOUT|NOTFOUND|ADDR)/.test(code) ? code : undefined;
}

function compressed(bytes: AsyncIterable<Buffer>): Readable {
  return through(bytes, createGzip({ level: constants.Z_BEST_SPEED }));
}

function decompressed(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return through(bytes, createGunzip());
}

function through(bytes: AsyncIterable<Buffer>, stream: Transform): Readable {
  const from = Readable.from(bytes);
  from.on('error', (error) => stream.destroy(error));
  stream.on('close', () => from.destroy());
  return from.pipe(stream);
}

function isDamaged(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

function targetOf({ server, feedId, map, separator, replace, dryRun }: SendFeed): URL {
  const keys = [
    `fid=${feedId}`,
    ...(replace ? ['mode=replace'] : []),
    ...(dryRun ? ['dryRun=true'] : []),
    ...map.map((one) => `map=${encodeURIComponent(one)}`),
    ...(separator === undefined ? [] : [`csvSeparators=${encodeURIComponent(separatorsWith(separator))}`]),
  ];
  if (!/^https?:\/\//i.test(server) || !URL.canParse(server))
    throw new UsageError(`--server ${server}: expected an http or https URL`);
  return new URL(`1.0/products;${keys.join(';')}`, server.replace(/\/*$/, '/'));
}

/** With those within cells, which must be others (`docs/decisions.md#p16`). */
function separatorsWith(column: string): string {
  return [column, column === ';' ? '|' : ';', column === ':' ? '|' : ':'].join('');
}

/** Statuses that say nothing about what was sent. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

async function answerOf({
  statusCode,
  headers,
  body,
}: Dispatcher.ResponseData): Promise<SentFeed | SendFailure> {
  const text = await body.text();
  const faults = faultsIn(text);
  const counts = headers['x-load-counts'];
  if (counts !== undefined)
    return {
      ...defined({
        loadId: one(headers['x-load-id']),
        ignoredFields: one(headers['x-ignored-fields']),
      }),
      counts: Object.fromEntries(
        [...String(counts).matchAll(/(\w+)=(\d+)/g)].map(([, name = '', number]) => [name, Number(number)]),
      ),
      faults: faults ?? [],
    };
  const reasons = (faults ?? []).map(({ code, message }) => `${code}: ${message}`);
  const failure = reasons.length === 0 ? `the server answered ${statusCode}` : reasons.join('\n');
  if (!PASSING.has(statusCode)) throw new CommandError(failure);
  const seconds = Number(headers['retry-after'] ?? NaN);
  return { failure, ...(Number.isNaN(seconds) ? {} : { pause: seconds * 1000 }) };
}

function one(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.join(', ');
}

/** Undefined for an answer that is not ours. */
function faultsIn(text: string): readonly SentFault[] | undefined {
  try {
    const { errors: found } = JSON.parse(text) as { readonly errors?: readonly SentFault[] };
    return Array.isArray(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

// Sources

interface SourceFile {
  readonly bytes: AsyncIterable<Buffer>;
  /** Bytes, as far as it is known. */
  readonly size: number | undefined;
  /** What its name or its server call it. */
  readonly named: FileFormat | undefined;
  /** What its server says that it is encoded in. */
  readonly encoding?: string | undefined;
  /** Why it has ended too early. */
  failure?: string;
}

async function opened(
  agent: Agent,
  source: string,
  stdin: SendParts['stdin'],
  signal: AbortSignal,
): Promise<SourceFile> {
  if (source === '-') return { bytes: asBuffers(stdin), size: undefined, named: undefined };
  if (/^https?:\/\//i.test(source)) return await downloaded(agent, source, signal);
  const found = await stat(source);
  const size = found.isFile() ? found.size : undefined;
  const file: SourceFile = { bytes: readFile(), size, named: formatOfFile({ name: source }) };
  return file;

  async function* readFile(): AsyncGenerator<Buffer> {
    let read = 0;
    for await (const chunk of createReadStream(source, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>) {
      read += chunk.length;
      yield chunk;
    }
    if (size === undefined || read === size) return;
    throw broken(file, `it had ${size} bytes, and ${read} were read: it has changed meanwhile`);
  }
}

const CHUNK = 256 * 1024;

async function* asBuffers(stdin: SendParts['stdin']): AsyncGenerator<Buffer> {
  for await (const chunk of stdin) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

const MOST_REDIRECTS = 5;

/** A file that ends before the length that its server has declared is a failure. */
async function downloaded(agent: Agent, url: string, signal: AbortSignal): Promise<SourceFile> {
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: MOST_REDIRECTS }));
  const answer = await request(url, { headers: { 'accept-encoding': 'gzip' }, signal, dispatcher }).catch(
    (error: unknown) => {
      throw isAbort(error) || !(error instanceof Error)
        ? error
        : new CommandError(`the source cannot be reached: ${error.message}`);
    },
  );
  const { statusCode, headers, body } = answer;
  const coding = one(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity';
  if (statusCode !== 200 || !['identity', 'gzip', 'x-gzip'].includes(coding)) {
    await body.dump();
    const problem = statusCode === 200 ? `the content encoding is ${coding}` : `the status is ${statusCode}`;
    throw new CommandError(`the source: ${problem}, expected ${statusCode === 200 ? 'gzip or none' : '200'}`);
  }
  const length = Number(headers['content-length'] ?? NaN);
  const named = formatOfFile({
    type: one(headers['content-type']),
    disposition: one(headers['content-disposition']),
    name: new URL(url).pathname,
  });
  const encoding = encodingOfFile(one(headers['content-type']));
  const size = Number.isNaN(length) ? undefined : length;
  const file: SourceFile = { bytes: received(), size, named, encoding };
  return file;

  async function* received(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of body) yield chunk as Buffer;
    } catch (error) {
      if (isAbort(error)) throw error;
      throw broken(file, 'the connection was closed before it was complete');
    }
  }
}

function broken(file: SourceFile, failure: string): Error {
  file.failure = failure;
  return new EngineUnavailable(failure);
}

/** Bytes in which the first character is looked for. */
const MOST_BEGINNING = 64 * 1024;

interface RecognisedFile {
  readonly bytes: AsyncIterable<Buffer>;
  readonly format: FileFormat;
  readonly isGzip: boolean;
  readonly encoding: string;
}

/** By its first character: `<` begins XML, `{` JSON, anything else rows, which are TSV if they are called so. */
async function recognised(
  file: SourceFile,
  wanted: SentFormat | undefined,
  declared: string | undefined,
): Promise<RecognisedFile> {
  const isEnough = (bytes: Buffer): boolean => {
    if (bytes.length >= MOST_BEGINNING) return true;
    const plain = plainOf(bytes);
    return firstOf(plain) !== undefined && encodingOf(plain, false, declared) !== undefined;
  };
  const { begin, all } = await beginningOf(file.bytes, isEnough);
  const plain = plainOf(begin);
  const first = firstOf(plain);
  const found = first === '<' ? 'xml' : first === '{' ? 'json' : file.named === 'tsv' ? 'tsv' : 'csv';
  if (wanted === 'google' && found === 'json')
    throw new CommandError('the source is JSON: expected a Google Merchant feed in XML, TSV or CSV');
  const format = wanted === undefined || wanted === 'google' ? found : wanted;
  const encoding = format === 'json' ? 'utf-8' : (encodingOf(plain, true, declared) ?? 'utf-8');
  return { bytes: all, format, isGzip: isGzip(begin), encoding };
}

/** Nothing of what cannot be decompressed: the server says what is wrong with it. */
function plainOf(begin: Buffer): Buffer {
  if (!isGzip(begin)) return begin;
  try {
    return gunzipSync(begin, {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: 64 * MOST_BEGINNING,
    });
  } catch {
    return Buffer.alloc(0);
  }
}

function firstOf(plain: Buffer): string | undefined {
  try {
    const text = new EncodedDecoder(markedEncoding(plain) ?? 'windows-1252').write(plain);
    return /[^\s\ufeff]/.exec(text)?.[0];
  } catch {
    return undefined;
  }
}
