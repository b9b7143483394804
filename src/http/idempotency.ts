import { createHash, createHmac } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { appendIdempotently, type EventOf, eventsOf, toDomainEvent, toNewEvent } from '../kernel/decider';
import { NO_STREAM, streamOf } from '../kernel/event';
import { type EventLog, RevisionConflict } from '../kernel/event-log';
import { NamedError } from '../kernel/fault';
import { type Caller } from '../network/organisations';
import { type Clock, type Timer } from '../runtime/clock';
import { httpFaults } from '../wire/api/errors';
import { type OperationText } from '../wire/api/description';
import { type KeyFaults } from '../wire/keys/keys';
import { Sealer } from './sealed';

/** Requests that clients may repeat by their `Idempotency-Key` (`docs/decisions.md#a22`, ADR 55). */
const KEY_HEADER = 'Idempotency-Key';
export const REPLAYED = 'Idempotent-Replayed';

const SHARDS = 1024;

/** Streams of the log that expires: a request is in the one that its identity selects. */
export const IDEMPOTENCY_STREAMS: readonly string[] = Array.from({ length: SHARDS }, (_, shard) =>
  streamOf('requests', shard),
);

/**
 * `request` identifies caller and key, and only processes with the key of the journal can compute it; `content`
 * is a digest of what was sent.
 */
interface Identity {
  readonly request: string;
  readonly content: string;
}

/** The names and shapes of these events are the storage format: add, never rename. `at` is an ISO 8601 instant. */
type RequestEvent =
  | EventOf<'RequestStarted', Identity>
  /** `answer`: sealed; absent if it was too large to be kept. */
  | EventOf<'RequestAnswered', Identity & { answer?: string }>
  /** By a failure of the server: a repeated request is executed. */
  | EventOf<'RequestFailed', Identity>;

/** An answer as it is given again. */
interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How long an answer is given again (ms). */
const REMEMBERED_MS = 24 * 60 * 60 * 1000;
/** How far the clocks of processes may be apart (ms). */
const SKEW_MS = 60 * 60 * 1000;
/** How often a process records that it still executes a request (ms). */
const RENEWED_MS = 5_000;
/** After this time without a word a request of another process is executed again: that process was killed (ms). */
const IN_PROGRESS_MS = 20_000;
/** Most characters of a sealed answer, so that an append has room for it. */
const MOST_KEPT = 700_000;
/** Events read at a time. */
const BATCH = 200;

/** Records requests, and what they were answered with. All methods may raise `EngineUnavailable`. */
export class RequestJournal {
  /** Those that this process executes, and what ends their renewal. */
  private readonly running = new Map<string, () => Promise<void>>();
  private readonly sealer: Sealer;

  /** `key` seals answers, which may contain secrets, and makes identities, so that no client can choose a stream. */
  constructor(
    private readonly clock: Clock,
    private readonly log: () => Promise<EventLog>,
    private readonly key: Uint8Array,
  ) {
    this.sealer = new Sealer(key);
  }

  /** Identifies a key of a caller. */
  requestOf({ organisationId, siteId, system }: Caller, key: string): string {
    const named = JSON.stringify([system, organisationId, siteId, key]);
    return createHmac('sha256', this.key).update(named).digest('hex').slice(0, 32);
  }

  /**
   * Begins a request, unless it was answered: then returns the answer. `mayHaveRun`: it was begun before, and may have
   * taken effect. Raises 409 while it is in progress, 422 if the key was used for another one.
   */
  async begin(identity: Identity): Promise<KeptAnswer | { readonly mayHaveRun: boolean }> {
    const { request } = identity;
    if (this.running.has(request)) throw inProgress(1);
    this.running.set(request, () => Promise.resolve());
    try {
      const begun = await this.answerOrBegin(identity);
      if ('status' in begun) this.running.delete(request);
      else this.running.set(request, this.renewing(identity));
      return begun;
    } catch (error) {
      this.running.delete(request);
      throw error;
    }
  }

  /** Keeps other processes from executing a request that takes long. Returns what ends this. */
  private renewing(identity: Identity): () => Promise<void> {
    let renewal: Promise<void> | undefined;
    const timer: Timer = this.clock.interval(RENEWED_MS, () => {
      renewal ??= this.append({ type: 'RequestStarted', data: { at: this.at(), ...identity } })
        .catch(() => undefined)
        .finally(() => (renewal = undefined));
    });
    timer.unref();
    return async () => {
      timer.cancel();
      await renewal;
    };
  }

  private at(): string {
    return this.clock.now().toISOString();
  }

  /** Ends a request that has begun. Without an answer it is executed when it is repeated. */
  async end(identity: Identity, answer: KeptAnswer | undefined): Promise<void> {
    try {
      await this.running.get(identity.request)?.();
      const at = this.at();
      const sealed = answer === undefined ? undefined : await this.seal(answer);
      const kept = sealed === undefined || sealed.length > MOST_KEPT ? {} : { answer: sealed };
      await this.append(
        answer === undefined
          ? { type: 'RequestFailed', data: { at, ...identity } }
          : { type: 'RequestAnswered', data: { at, ...identity, ...kept } },
      );
    } finally {
      this.running.delete(identity.request);
    }
  }

  private async answerOrBegin(identity: Identity): Promise<KeptAnswer | { readonly mayHaveRun: boolean }> {
    for (;;) {
      const now = this.clock.now();
      const { last, revision } = await this.find(identity.request, now.getTime());
      if (last !== undefined) {
        const answer = await this.answerOf(last, identity, now.getTime());
        if (answer !== undefined) return answer;
      }
      const started = { type: 'RequestStarted', data: { at: now.toISOString(), ...identity } } as const;
      try {
        await this.append(started, revision);
        return { mayHaveRun: last !== undefined };
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
  }

  /** The last event of a request, and the revision of its stream. */
  private async find(
    request: string,
    now: number,
  ): Promise<{ readonly last?: RequestEvent; readonly revision: number }> {
    const log = await this.log();
    let revision = NO_STREAM;
    for await (const event of eventsOf(log, streamFor(request), { backwards: true, batchSize: BATCH })) {
      revision = Math.max(revision, event.revision);
      const found = toDomainEvent(event) as RequestEvent;
      const age = now - Date.parse(found.data.at);
      if (age > REMEMBERED_MS + SKEW_MS) break;
      if (found.data.request === request)
        return age > REMEMBERED_MS ? { revision } : { last: found, revision };
    }
    return { revision };
  }

  private async answerOf(
    last: RequestEvent,
    { content }: Identity,
    now: number,
  ): Promise<KeptAnswer | undefined> {
    if (last.data.content !== content) throw httpFaults.keyReused();
    if (last.type === 'RequestAnswered') return await this.opened(last.data.answer);
    if (last.type === 'RequestFailed') return undefined;
    const left = IN_PROGRESS_MS - (now - Date.parse(last.data.at));
    if (left > 0) throw inProgress(Math.min(Math.ceil(left / 1000), IN_PROGRESS_MS / 1000));
    return undefined;
  }

  /** At a revision; without one, wherever the stream ends. */
  private async append(event: RequestEvent, expected?: number): Promise<void> {
    const log = await this.log();
    const stream = streamFor(event.data.request);
    const events = [toNewEvent(event, this.clock.uuid())];
    for (let revision = expected ?? NO_STREAM; ;) {
      try {
        await appendIdempotently(log, stream, revision, events);
        return;
      } catch (error) {
        if (expected !== undefined || !(error instanceof RevisionConflict)) throw error;
        revision = error.actual;
      }
    }
  }

  private async seal(answer: KeptAnswer): Promise<string> {
    return this.sealer.seal(await promisify(gzip)(JSON.stringify(answer)));
  }

  /** Undefined for one that was too large, or sealed with another key. */
  private async opened(sealed: string | undefined): Promise<KeptAnswer | undefined> {
    const bytes = sealed === undefined ? undefined : this.sealer.open(sealed);
    if (bytes === undefined) return undefined;
    return JSON.parse((await promisify(gunzip)(bytes)).toString()) as KeptAnswer;
  }
}

function streamFor(request: string): string {
  return streamOf('requests', parseInt(request.slice(0, 8), 16) % SHARDS);
}

function inProgress(retryAfter: number) {
  return httpFaults.inProgress(undefined, { retryAfter });
}

/** Raised where a request would begin that was answered before. */
export class AnsweredBefore extends NamedError {
  constructor(readonly answer: KeptAnswer) {
    super('the request was answered before');
  }
}

/** A key, plain or in quotes as a structured header has it. */
const KEY = /^(?:"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x7e][\x21-\x7e]{0,254}))$/;

/** Whether an operation looks at the key of its requests. */
export function takesKey(method: string, text: OperationText | undefined): boolean {
  return method === 'POST' && text !== undefined && text.isLoad !== true;
}

/** A request with a key, from when it is admitted to when it is answered. */
export class RepeatableRequest {
  private readonly content = createHash('sha256');
  private readonly request: string;
  private begun: Identity | undefined;
  /** It was begun before by a process that did not answer it, so it may have taken effect. */
  mayHaveRun = false;

  private constructor(
    private readonly journal: RequestJournal,
    { method, target, contentType }: FastifyRequest,
    caller: Caller,
    key: string,
  ) {
    this.request = journal.requestOf(caller, key);
    const { path, extension, matrix, query } = target;
    const keys = [...matrix, ...query]
      .filter(({ name }) => name !== 'token')
      .map(({ name, sent }) => `${name}=${sent}`);
    this.content.update(JSON.stringify([method, path, extension, keys.sort(), contentType]));
  }

  /** Undefined for a request without a key. Raises the service's fault for one that is none. */
  static of(
    request: FastifyRequest,
    { keyFaults }: { readonly keyFaults: KeyFaults },
    journal: RequestJournal,
  ): RepeatableRequest | undefined {
    const sent = request.headers[KEY_HEADER.toLowerCase()];
    if (sent === undefined || request.caller === undefined) return undefined;
    const [, quoted, plain = quoted] = KEY.exec(String(sent)) ?? [];
    if (plain === undefined)
      throw keyFaults.unusable(
        `${KEY_HEADER}: ${String(sent).slice(0, 300)}: expected 1 to 255 printable ASCII characters, best a UUID`,
      );
    return new RepeatableRequest(journal, request, request.caller, plain);
  }

  /** Identifies the request and its content, once it has begun: what is created by it has ids that are made of this. */
  id = '';

  /** A part of the body. */
  received(chunk: Uint8Array): void {
    this.content.update(chunk);
  }

  /** The body was received. Raises `AnsweredBefore`, 409 and 422. */
  async begin(): Promise<void> {
    const identity = { request: this.request, content: this.content.digest('hex').slice(0, 32) };
    this.id = identity.request + identity.content;
    const begun = await this.journal.begin(identity);
    if ('status' in begun) throw new AnsweredBefore(begun);
    this.begun = identity;
    this.mayHaveRun = begun.mayHaveRun;
  }

  /** Records what is answered now, unless the server has failed. Raises nothing. */
  async answered(reply: FastifyReply, payload: unknown): Promise<void> {
    const { begun } = this;
    if (begun === undefined) return;
    this.begun = undefined;
    const warn = (error: unknown) => {
      reply.request.log.warn({ err: error }, 'an answer could not be kept for repeated requests');
      return undefined;
    };
    const answer = reply.statusCode < 500 ? await kept(reply, payload).catch(warn) : undefined;
    await this.journal.end(begun, answer).catch(warn);
  }
}

/** An answer as it is kept. */
async function kept(reply: FastifyReply, payload: unknown): Promise<KeptAnswer> {
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined || !isKept(name) ? [] : [[name, String(value)] as const],
  );
  const bytes = Buffer.from((payload ?? '') as Buffer | string);
  const isGzip = reply.getHeader('content-encoding') === 'gzip';
  const body = (isGzip ? await promisify(gunzip)(bytes) : bytes).toString();
  return { status: reply.statusCode, headers: Object.fromEntries(headers), body };
}

/** Headers that belong to one answer, not to the request. */
const NOT_KEPT =
  /^(access-control-|x-ratelimit-|x-request-id$|content-(length|encoding)$|connection$|date$|retry-after$)/;

function isKept(name: string): boolean {
  return !NOT_KEPT.test(name);
}
