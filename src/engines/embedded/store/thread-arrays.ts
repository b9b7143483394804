import { BroadcastChannel, type MessagePort, receiveMessageOnPort, threadId } from 'node:worker_threads';
import { type SharedArrays } from '../search/storage';

/** What some threads share arrays by: can be sent to each of them. */
export interface ThreadPool {
  /** The name of their channel. */
  readonly channel: string;
  /** The number of the thread that makes arrays; 0 for none. */
  readonly maker: Int32Array;
}

export function newThreadPool(channel: string): ThreadPool {
  return { channel, maker: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) };
}

interface MadeArrays {
  /** The number of the thread. */
  readonly by: number;
  readonly arrays: object;
}

type ArraysMessage = { readonly name: string; readonly made: MadeArrays } | { readonly gone: string };

/** How long (ms) to wait for another thread that makes arrays: it may have died. */
const PATIENCE_MS = 1_000;

/**
 * Arrays in shared memory that the threads of a pool have in memory once: one makes them, and those that need any
 * meanwhile wait. If several have made the same, as one that starts has missed what others had made, those of the
 * thread with the least number stay. They are in memory until a thread forgets them.
 */
export class ThreadArrays {
  private readonly known = new Map<string, MadeArrays>();
  private readonly channel: BroadcastChannel;

  constructor(
    private readonly pool: ThreadPool,
    private readonly number = threadId + 1,
  ) {
    this.channel = new BroadcastChannel(pool.channel);
    this.channel.onmessage = ({ data }) => {
      this.take(data as ArraysMessage);
    };
    this.channel.unref();
  }

  /** Those that are made of one file. */
  of(file: string): SharedArrays {
    return {
      get: (name, make) => this.get(`${file} ${name}`, make),
      forget: (prefix) => {
        this.forget(`${file} ${prefix}`);
      },
    };
  }

  close(): void {
    this.channel.close();
    this.known.clear();
  }

  private get<Arrays extends object>(name: string, make: () => Arrays): Arrays {
    return (this.known.get(name) ?? this.made(name, make)).arrays as Arrays;
  }

  private made(name: string, make: () => object): MadeArrays {
    this.lock();
    try {
      // A thread that answers a query receives no messages.
      const port = this.channel as unknown as MessagePort;
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
        this.take(next.message as ArraysMessage);
      const received = this.known.get(name);
      if (received !== undefined) return received;
      const made = { by: this.number, arrays: make() };
      this.known.set(name, made);
      this.send({ name, made });
      return made;
    } finally {
      Atomics.compareExchange(this.pool.maker, 0, this.number, 0);
      Atomics.notify(this.pool.maker, 0);
    }
  }

  private lock(): void {
    const { maker } = this.pool;
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const other = Atomics.compareExchange(maker, 0, 0, this.number);
      if (other === 0) return;
      const left = end - performance.now();
      if (left <= 0) break;
      Atomics.wait(maker, 0, other, left);
    }
    Atomics.store(maker, 0, this.number);
  }

  private take(message: ArraysMessage): void {
    if ('gone' in message) {
      this.drop(message.gone);
      return;
    }
    const { name, made } = message;
    const own = this.known.get(name);
    if (own === undefined || made.by < own.by) this.known.set(name, made);
    else if (made.by > own.by) this.send({ name, made: own });
  }

  private forget(prefix: string): void {
    if (this.drop(prefix)) this.send({ gone: prefix });
  }

  /** Whether there were any. */
  private drop(prefix: string): boolean {
    const names = [...this.known.keys()].filter((name) => name.startsWith(prefix));
    for (const name of names) this.known.delete(name);
    return names.length > 0;
  }

  private send(message: ArraysMessage): void {
    this.channel.postMessage(message);
  }
}
