import { type EventLog } from '../../kernel/event-log';
import { MATCHED, type Message } from '../delivery-events';
import { receiverIn } from './matched-events';

/** Messages that are read at once: those around one that is needed are needed soon. */
const CHUNK = 256;

/** What a cached message takes beside its text (bytes). */
const OVERHEAD = 700;

interface Cached {
  readonly bytes: number;
  /** As it is in the log until it is needed. */
  data: string | undefined;
  message: Message | undefined;
}

/** Messages that are new are cached up to this share: there is room for those that are needed next. */
const NEW_SHARE = 0.5;

/** Messages by their revision in `matched`, in memory up to a size. What has no room is read again when it is needed. */
export class MessageCache {
  private readonly cached = new Map<number, Cached>();
  private bytes = 0;
  private readonly loading = new Map<number, Promise<void>>();

  /** `isWanted`: whether a message is still to be sent by this process. */
  constructor(
    private readonly log: EventLog,
    private readonly isWanted: (receiver: string, revision: number) => boolean,
    private readonly maxBytes = 64 * 1024 * 1024,
  ) {}

  /** Adds a new message as it is in the log, if there is room: those before it are needed first. */
  add(revision: number, data: string): void {
    if (this.bytes < NEW_SHARE * this.maxBytes) this.put(revision, data);
  }

  get(revision: number): Message | undefined {
    const cached = this.cached.get(revision);
    if (cached?.data === undefined) return cached?.message;
    cached.message = JSON.parse(cached.data) as Message;
    cached.data = undefined;
    return cached.message;
  }

  delete(revision: number): void {
    const cached = this.cached.get(revision);
    if (cached === undefined) return;
    this.cached.delete(revision);
    this.bytes -= cached.bytes;
  }

  /** Reads a message and its neighbours. If it is not there afterwards, it has expired. Raises `EngineUnavailable`. */
  async load(revision: number): Promise<void> {
    const chunk = Math.floor(revision / CHUNK);
    // What is read for another message has this one only if it is wanted.
    for (let other = this.loading.get(chunk); other !== undefined; other = this.loading.get(chunk))
      await other;
    if (this.cached.has(revision)) return;
    const loading = this.loadChunk(chunk, revision).finally(() => this.loading.delete(chunk));
    this.loading.set(chunk, loading);
    await loading;
  }

  private async loadChunk(chunk: number, needed: number): Promise<void> {
    const from = chunk * CHUNK;
    for await (const events of this.log.readStream(MATCHED, { from, limit: CHUNK })) {
      for (const event of events) {
        const { type, data, revision } = event;
        if (revision >= from + CHUNK) return;
        const receiver = type === 'MessageDue' ? receiverIn(event) : undefined;
        if (receiver === undefined) continue;
        if (revision === needed || this.isWanted(receiver, revision)) this.put(revision, data);
      }
    }
  }

  private put(revision: number, data: string): void {
    if (this.cached.has(revision)) return;
    const bytes = data.length + OVERHEAD;
    this.cached.set(revision, { bytes, data, message: undefined });
    this.bytes += bytes;
    for (const oldest of this.cached.keys()) {
      if (this.bytes <= this.maxBytes) break;
      this.delete(oldest);
    }
  }
}
