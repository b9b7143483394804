import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Fault } from '../kernel/fault';
import { FairBudget } from '../runtime/fair-queue';
import { httpFaults, notResponding } from '../wire/api/errors';
import { type BodyFormat, bodyFormat, type Format } from '../wire/api/format';
import { GrowingBytes } from '../wire/bytes';
import { AnyMarks, CsvMarks, JsonMarks, type Marks, type Weights, XmlMarks } from '../wire/marks';
import { type RepeatableRequest } from './idempotency';
import { whenOver } from './send-stream';

/** What a body takes until its request is answered, in bytes. */
export interface BodyCost {
  readonly memory: number;
  /** On disk. */
  readonly space: number;
}

/** The cost of this many bytes, declared or received; `chunk` is the last one to have arrived. */
type CostOf = (bytes: number, chunk?: Buffer) => BodyCost;

/** A request with a body, however small it is. */
const LEAST = 64 * 1024;
/** For each byte: as text in memory, where a character may take two, and in part as what is made of it. */
const PER_BYTE = 2;
/**
 * For bytes that begin a value or separate two: in JSON, an empty object takes three bytes, and 64 in memory; in XML,
 * an empty element four and 100, its attribute five and 50 to 150; in CSV, a line two and 240, each further cell two
 * and 40.
 */
const PER_MARK = {
  json: { '{': 64, '[': 64, ',': 64, ':': 64, '"': 64 },
  xml: { '<': 128, '"': 64, "'": 64 },
  csv: { ',': 64, ';': 64, '\t': 64, '\n': 256, '\r': 256 },
} as const;
const WEIGHTS = {
  json: weightsOf(PER_MARK.json),
  xml: weightsOf(PER_MARK.xml),
  csv: weightsOf(PER_MARK.csv),
  any: weightsOf({ ...PER_MARK.json, ...PER_MARK.xml, ...PER_MARK.csv }),
};

function weightsOf(perMark: Readonly<Record<string, number>>): Weights {
  const weights = new Uint16Array(256);
  for (const [character, bytes] of Object.entries(perMark)) weights[character.charCodeAt(0)] = bytes;
  return weights;
}

/** The cost of a body that is parsed in memory as this format; without one, as any. */
export function parsedCost(format?: Format): CostOf {
  const marks = marksOf(format);
  let values = 0;
  return (bytes, chunk) => {
    if (chunk !== undefined) values = marks.write(chunk);
    return { memory: Math.max(LEAST, bytes * PER_BYTE + values), space: 0 };
  };
}

function marksOf(format: Format | undefined): Marks {
  switch (format) {
    case 'json':
      return new JsonMarks(WEIGHTS.json);
    case 'xml':
      return new XmlMarks(WEIGHTS.xml);
    case 'csv':
      return new CsvMarks(WEIGHTS.csv);
    default:
      return new AnyMarks(WEIGHTS.any);
  }
}

/** Value of `Retry-After`, in seconds. */
const RETRY_AFTER = 5;

const SETTINGS = { memory: 'BODY_MEMORY', space: 'BODY_SPACE' } as const;
type Resource = keyof typeof SETTINGS;

/**
 * What all bodies, posted or fetched, may use together, fair between tokens, and one large body beside it
 * (`docs/decisions.md#x100`).
 */
export class BodyBudgets {
  readonly memory: FairBudget;
  readonly space: FairBudget;
  /** The body that uses memory beside the budget: one at a time. */
  large: BodyShare | undefined;

  constructor({ memory, space }: BodyCost) {
    this.memory = new FairBudget(memory);
    this.space = new FairBudget(space);
  }
}

/** The part of the budgets that one body uses; that of a request until its handler has ended and the answer is sent. */
export class BodyShare {
  private readonly used = { memory: 0, space: 0 };
  /** The part of it that the budgets count. */
  private readonly counted = { memory: 0, space: 0 };
  private isHandled = false;

  constructor(
    private readonly budgets: BodyBudgets,
    /** The hash of the token; known once the request is admitted. */
    private readonly client: () => string,
  ) {}

  /** Uses this much for a body of at most `limit` bytes. Raises 503 if it is not free now, 413 if it never is. */
  grow({ memory, space }: BodyCost, limit: number): void {
    this.use('memory', memory, this.budgets.memory.total + limit);
    this.use('space', space, this.budgets.space.most);
  }

  private use(resource: Resource, needed: number, most: number): void {
    const more = needed - this.used[resource];
    if (more <= 0) return;
    if (needed > most) throw tooMuch(resource, needed, most);
    if (this.budgets[resource].take(this.client(), more)) this.counted[resource] += more;
    else if (resource === 'memory' && this.mayBeLarge(needed)) this.budgets.large = this;
    else throw busy(resource);
    this.used[resource] = needed;
  }

  /** True if no other body is the large one, and this one needs more than all others of its token together. */
  private mayBeLarge(needed: number): boolean {
    const { memory, large } = this.budgets;
    if (large !== undefined) return large === this;
    return needed > memory.usedBy(this.client()) - this.counted.memory;
  }

  /** The handler of the request has returned, or failed: nothing is made of the body any more. */
  handled(response: ServerResponse): void {
    if (this.isHandled) return;
    this.isHandled = true;
    whenOver(response, () => this.release());
  }

  release(): void {
    const { budgets, counted, used } = this;
    if (budgets.large === this) budgets.large = undefined;
    for (const resource of ['memory', 'space'] as const) {
      budgets[resource].give(this.client(), counted[resource]);
      counted[resource] = used[resource] = 0;
    }
  }
}

function busy(resource: Resource): Fault {
  return httpFaults.receiving(
    `the bodies that are being received, of this token or of all, use the ${resource} there is for them ` +
      `(${SETTINGS[resource]}): repeat the request in ${RETRY_AFTER} s`,
    { retryAfter: RETRY_AFTER },
  );
}

function tooMuch(resource: Resource, needed: number, most: number): Fault {
  return httpFaults.bodyTooLarge(
    `the body needs about ${needed} bytes of ${resource}, of which there are at most ${most} for it ` +
      `(${SETTINGS[resource]}): expected it in smaller parts`,
  );
}

/** The body of a request, for `@Body()`. Nothing is read or checked before a handler asks for it. */
export class PostedBody {
  constructor(
    private readonly request: Pick<FastifyRequest, 'raw' | 'contentType' | 'service' | 'repeatable'>,
    private readonly reply: Pick<FastifyReply, 'headers'>,
    private readonly share: BodyShare,
    /** Limit of its bytes. */
    readonly maxBody: number,
    /** Aborted when the server stops: bodies that are incomplete by then are given up. */
    private readonly stopping: AbortSignal,
    /** What it is read as: what its marks count as. */
    private readAs?: Format,
  ) {}

  /** The server stops: a handler that waits answers now. */
  get isStopping(): boolean {
    return this.stopping.aborted;
  }

  /** Of a request with an `Idempotency-Key`; it has begun once the body was read. */
  get repeatable(): RepeatableRequest | undefined {
    return this.request.repeatable;
  }

  /** Adds headers to the answer, whether it is a success or a failure. */
  report(headers: Readonly<Record<string, string>>): void {
    this.reply.headers(headers);
  }

  /** The format that its headers declare. Raises the service's faults (`docs/decisions.md#a10`). */
  format(): BodyFormat;
  format<Accepted extends Format>(
    accepted: readonly Accepted[],
    encodings?: { readonly gzip?: boolean },
  ): Accepted;
  format(accepted: readonly Format[] = ['json', 'xml'], { gzip = false } = {}): Format {
    const { contentType, service } = this.request;
    if (service === undefined) throw new Error('only routes of a service take bodies');
    const { encoding } = this;
    if (encoding !== 'identity' && !(gzip && this.isGzip)) {
      const expected = gzip ? 'gzip, or an unencoded body' : 'an unencoded body';
      throw service.bodyFaults.charset(`Content-Encoding: ${encoding}: expected ${expected}`);
    }
    return (this.readAs = bodyFormat(contentType, service.bodyFaults, accepted));
  }

  /** Its headers declare it to be compressed, which `chunks` are then. */
  get isGzip(): boolean {
    return ['gzip', 'x-gzip'].includes(this.encoding);
  }

  private get encoding(): string {
    return this.request.raw.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  }

  /**
   * Its bytes as they arrive. Raises 413 when there are more than the setting allows, 503 when the token or all
   * together receive too much, 408 when they arrive too slowly, 400 when the client aborts, Open API 5 when the server
   * stops (`docs/decisions.md#x11`, `#a12`). At their end a request with an `Idempotency-Key` begins: raises
   * `AnsweredBefore`, 409 and 422. Time that the reader spends between chunks does not count. `costOf`: what
   * the body takes until its request is answered; by default parsed as the format that was asked for before.
   */
  async *chunks(costOf: CostOf = parsedCost(this.readAs)): AsyncGenerator<Buffer, void> {
    const { maxBody, stopping, share } = this;
    const { raw } = this.request;
    const tooLarge = () => httpFaults.bodyTooLarge(`expected a body of at most ${maxBody} bytes`);
    const declared = Number(raw.headers['content-length'] ?? 0);
    if (declared > maxBody) throw tooLarge();
    share.grow(costOf(declared), maxBody);
    askForBody(raw);
    // Of what arrives at once, the headers are parsed first, and handled before the rest.
    if (declared > 0 && declared < AT_ONCE && !raw.complete) await nextTurn();
    const pending = isWhole(raw) ? undefined : new PendingBody(raw, stopping);
    let received = 0;
    try {
      for (;;) {
        if (stopping.aborted) throw notResponding();
        const chunk = pending === undefined ? (raw.read() as Buffer | null) : await pending.next();
        if (chunk === null) {
          await this.repeatable?.begin();
          return;
        }
        this.repeatable?.received(chunk);
        received += chunk.length;
        if (received > maxBody) throw tooLarge();
        share.grow(costOf(Math.max(declared, received), chunk), maxBody);
        yield chunk;
      }
    } finally {
      if (pending === undefined) raw.resume();
      else pending.end();
    }
  }

  /** Its reader takes at least this much, until the request is answered. Raises 503 and 413 as `chunks` does. */
  takes(cost: BodyCost): void {
    this.share.grow(cost, this.maxBody);
  }

  /** The same with another limit, if that is lower: raises 413 beyond `limit` bytes. */
  upTo(limit: number): PostedBody {
    const most = Math.min(limit, this.maxBody);
    return new PostedBody(this.request, this.reply, this.share, most, this.stopping, this.readAs);
  }

  /** The whole body, for operations whose bodies are small: raises 413 beyond `limit` bytes. */
  async bytes(limit: number): Promise<Buffer> {
    const bytes = new GrowingBytes();
    for await (const chunk of this.upTo(limit).chunks()) bytes.add(chunk);
    return bytes.take();
  }
}

/** Bodies with fewer bytes mostly arrive together with their headers. */
const AT_ONCE = 64 * 1024;

/** Whether all of a body has arrived, as small ones mostly have: there is nobody to wait for. */
function isWhole({ complete, destroyed }: IncomingMessage): boolean {
  return complete && !destroyed;
}

/** A body that is still arriving. */
class PendingBody {
  // Ending early must not destroy the connection: the answer is sent over it.
  private readonly iterator: AsyncIterator<Buffer, undefined, undefined>;
  private readonly pace = new BodyPace();

  constructor(
    private readonly raw: IncomingMessage,
    private readonly stopping: AbortSignal,
  ) {
    this.iterator = raw.iterator({ destroyOnReturn: false }) as typeof this.iterator;
  }

  /** Its next chunk; null at its end. */
  async next(): Promise<Buffer | null> {
    const { value: chunk } = await inTime(this.iterator.next(), this.pace, this.stopping);
    if (chunk === undefined) return null;
    this.pace.received(chunk.length);
    return chunk;
  }

  end(): void {
    this.pace.end();
    // `watchConnections` discards the rest once nobody reads; there is none if the request has broken off.
    this.iterator
      .return?.()
      .then(() => this.raw.resume())
      .catch(() => undefined);
  }
}

async function inTime<T>(next: Promise<T>, pace: BodyPace, stopping: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    pace.waiting(() => reject(tooSlow()));
    stop = () => reject(notResponding());
    stopping.addEventListener('abort', stop, { once: true });
  });
  const read = next.catch((cause: unknown) => {
    throw httpFaults.badRequest(
      `the body broke off: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
  });
  try {
    return await Promise.race([read, late]);
  } finally {
    stopping.removeEventListener('abort', stop);
  }
}

/** Seconds for which a client may keep us waiting, and bytes that win one of them back (`docs/decisions.md#x11`). */
const PATIENCE = 30;
const PER_SECOND = 1024;
const SECOND_MS = 1_000;

/** The pace at which a client sends a body: counts the seconds in which the reader waits for it, not those of ours. */
class BodyPace {
  private left = PATIENCE;
  private late: (() => void) | undefined;
  private readonly timer = setInterval(() => this.second(), SECOND_MS).unref();

  /** Calls `late` if the client keeps us waiting for too long, until `received` or `end` is called. */
  waiting(late: () => void): void {
    this.late = late;
  }

  received(bytes: number): void {
    this.late = undefined;
    this.left = Math.min(PATIENCE, this.left + bytes / PER_SECOND);
  }

  end(): void {
    this.late = undefined;
    clearInterval(this.timer);
  }

  private second(): void {
    if (this.late === undefined) return;
    this.left -= 1;
    if (this.left <= 0) this.late();
  }
}

const tooSlow = (): Error =>
  httpFaults.timeout(
    `the body arrives too slowly: expected ${PER_SECOND} bytes a second, and no pause of ${PATIENCE} s`,
  );

/** Requests whose client waits for `100 Continue` before it sends the body. */
const awaiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Keeps Node.js from answering `Expect` before a request is checked (`docs/decisions.md#x73`). */
export function takeExpectations(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    awaiting.set(request, response);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
}

/** Sends `100 Continue` if the client waits for it: the body is about to be read. */
function askForBody(request: IncomingMessage): void {
  awaiting.get(request)?.writeContinue();
  awaiting.delete(request);
}
