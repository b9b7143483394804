import { type EventLog } from '../../kernel/event-log';
import { FairQueue } from '../../runtime/fair-queue';
import { traceIn } from '../../runtime/tracing';
import { MATCHED, type Message } from '../../domain/deliveries/delivery-events';
import { isUsableMessage, receiverIn } from './partition-state';

/**
 * Messages that are read at once, since those around one that is needed are needed soon; fewer while other reads are in
 * progress, which may be for messages of a thousand receivers that are far apart.
 */
const CHUNK = { alone: 256, crowded: 16 } as const;

/** Reads at once. More of them would end later, all of them, and what they have read would be in memory together. */
const READS = 4;

/** What a cached message takes beside its text (bytes). */
const OVERHEAD = 700;

interface Cached {
  readonly bytes: number;
  /** As it is in the log until it is needed. */
  data: string | undefined;
  message: Message | undefined;
  /** The span that has made it. */
  readonly trace: string | undefined;
}

/** Messages that nobody has asked for yet are cached up to these shares; the rest is for those that are needed now. */
const SHARES = { new: 0.5, neighbours: 0.75 } as const;

/**
 * Messages by their revision in `matched`, in memory up to a size. What has no room is read again when it is needed.
 */
export class MessageCache {
  /** Read because they may be needed soon, and because they are needed. */
  private readonly spare = new Map<number, Cached>();
  private readonly needed = new Map<number, Cached>();
  private bytes = 0;
  private neededBytes = 0;
  /** By the number of the smallest chunk. */
  private readonly loading = new Map<number, Promise<Message | undefined>>();
  private readonly reads = new FairQueue({ atOnce: READS, perClient: READS });
  /** Reads in progress, and those that wait. */
  private reading = 0;

  /** `isWanted`: whether a message is still to be sent by this process. */
  constructor(
    private readonly log: EventLog,
    private readonly isWanted: (receiver: string, revision: number) => boolean,
    private readonly maxBytes = 64 * 1024 * 1024,
  ) {}

  /**
   * Adds a new message as it is in the log, if there is room: those before it are needed first. `isNext`: it is one of
   * the next to its receiver, and takes the room of those that are not, such as the backlog of receivers that hang.
   */
  add(revision: number, data: string, isNext: boolean, meta = '{}'): void {
    if (this.has(revision)) return;
    const share = SHARES.new * this.maxBytes;
    if (isNext && this.neededBytes < share) this.put(this.needed, revision, data, traceIn(meta));
    else if (this.bytes < share) this.put(this.spare, revision, data, traceIn(meta));
  }

  /** Undefined also for one that is not usable, however often it is loaded. */
  get(revision: number): Message | undefined {
    const cached = this.cached(revision);
    if (cached?.data === undefined) return cached?.message;
    const message = JSON.parse(cached.data) as Message;
    if (!isUsableMessage(message)) {
      this.delete(revision);
      return undefined;
    }
    cached.message = message;
    cached.data = undefined;
    return message;
  }

  /** The span that has made a message, if it is in memory. */
  traceOf(revision: number): string | undefined {
    return this.cached(revision)?.trace;
  }

  /** Replaces a message that was read by the one that was rendered again. */
  replace(revision: number, message: Message): void {
    const { url = '', body = '' } = message.request ?? {};
    const trace = this.traceOf(revision);
    this.delete(revision);
    this.put(this.needed, revision, { bytes: bytesOf(url) + bytesOf(body), message }, trace);
  }

  delete(revision: number): void {
    for (const messages of [this.spare, this.needed]) {
      const cached = messages.get(revision);
      if (cached === undefined) continue;
      this.bytes -= cached.bytes;
      if (messages === this.needed) this.neededBytes -= cached.bytes;
      messages.delete(revision);
    }
  }

  /**
   * Reads a message, and its neighbours if there is room. Undefined: the log no longer has it, or it is not usable.
   * Undefined is no failure: the message may have been sent meanwhile, or have made room for others. Raises
   * `EngineUnavailable`.
   */
  async load(revision: number): Promise<Message | undefined> {
    const own = Math.floor(revision / CHUNK.crowded);
    // What is read for another message has this one only if it is wanted.
    for (let other = this.loading.get(own); other !== undefined; other = this.loading.get(own)) await other;
    if (this.has(revision)) return this.get(revision);
    const size = this.reading < READS ? CHUNK.alone : CHUNK.crowded;
    const from = Math.floor(revision / size) * size;
    const chunks = Array.from({ length: size / CHUNK.crowded }, (_, at) => from / CHUNK.crowded + at).filter(
      (chunk) => !this.loading.has(chunk),
    );
    const loading = this.readInTurn(from, size, revision).finally(() => {
      for (const chunk of chunks) this.loading.delete(chunk);
    });
    for (const chunk of chunks) this.loading.set(chunk, loading);
    return await loading;
  }

  private async readInTurn(from: number, limit: number, needed: number): Promise<Message | undefined> {
    this.reading += 1;
    try {
      return await this.reads.run('', () =>
        this.hasRoom() ? this.read(from, limit, needed) : this.read(needed, 1, needed),
      );
    } finally {
      this.reading -= 1;
    }
  }

  /** The message that is needed, as the log has it. */
  private async read(from: number, limit: number, needed: number): Promise<Message | undefined> {
    let found: Message | undefined;
    for await (const events of this.log.readStream(MATCHED, { from, limit })) {
      for (const event of events) {
        const { type, data, meta, revision } = event;
        const receiver = type === 'MessageDue' ? receiverIn(event) : undefined;
        if (receiver === undefined || revision >= from + limit) continue;
        if (revision === needed) {
          this.delete(revision);
          this.put(this.needed, revision, data, traceIn(meta));
          found = this.get(revision);
        } else if (this.hasRoom() && !this.has(revision) && this.isWanted(receiver, revision))
          this.put(this.spare, revision, data, traceIn(meta));
      }
      if (found !== undefined && !this.hasRoom()) break;
    }
    return found;
  }

  private cached(revision: number): Cached | undefined {
    return this.spare.get(revision) ?? this.needed.get(revision);
  }

  private has(revision: number): boolean {
    return this.cached(revision) !== undefined;
  }

  private hasRoom(): boolean {
    return this.bytes < SHARES.neighbours * this.maxBytes;
  }

  /** Removes what is not needed for it, then the oldest that is: never what is put. */
  private put(
    into: Map<number, Cached>,
    revision: number,
    what: string | { readonly bytes: number; readonly message: Message },
    trace?: string,
  ): void {
    const bytes = (typeof what === 'string' ? bytesOf(what) : what.bytes) + OVERHEAD;
    if (this.bytes + bytes > this.maxBytes) this.makeRoom(bytes);
    const isRead = typeof what === 'string';
    into.set(revision, {
      bytes,
      data: isRead ? what : undefined,
      message: isRead ? undefined : what.message,
      trace,
    });
    this.bytes += bytes;
    if (into === this.needed) this.neededBytes += bytes;
  }

  private makeRoom(bytes: number): void {
    for (const others of [this.spare, this.needed]) {
      for (const oldest of others.keys()) {
        if (this.bytes + bytes <= this.maxBytes) return;
        this.delete(oldest);
      }
    }
  }
}

/** In memory a text takes one byte a character if all are Latin-1, otherwise two. */
function bytesOf(text: string): number {
  return /[^\u0000-\u00ff]/.test(text) ? 2 * text.length : text.length;
}
