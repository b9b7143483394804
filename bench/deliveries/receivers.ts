import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Arrivals, type Request } from './receivers.process';

const POLL_MS = 20;

/** Receivers in a process of their own. */
export class Receivers {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  static async start(): Promise<Receivers> {
    const child = fork(join(__dirname, 'receivers.process.js'), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const [port] = (await once(child, 'message')) as [number];
    return new Receivers(child, port);
  }

  /** The setting that permits messages to them. */
  get settings(): { readonly NOTIFY_ALLOW: string } {
    return { NOTIFY_ALLOW: `127.0.0.0/8:${this.port}` };
  }

  /** The URL of a receiver by its number. Each is a host of its own. */
  url(number: number): string {
    return `http://127.0.${1 + Math.floor(number / 200)}.${1 + (number % 200)}:${this.port}/r${number}`;
  }

  urls(count: number): readonly string[] {
    return Array.from({ length: count }, (_, number) => this.url(number));
  }

  async reset({ hung = 0, most = Number.MAX_SAFE_INTEGER, keepTimes = false } = {}): Promise<void> {
    await this.ask({ ask: 'reset', hung, most, keepTimes });
  }

  /** Waits until so many messages have arrived. */
  async arrived(count: number): Promise<Arrivals> {
    for (;;) {
      const arrivals = await this.ask({ ask: 'arrivals' });
      if (arrivals.count >= count) return arrivals;
      await pause(POLL_MS);
    }
  }

  async stop(): Promise<void> {
    this.child.disconnect();
    await once(this.child, 'exit');
  }

  private async ask(request: Request): Promise<Arrivals> {
    this.child.send(request);
    const [answer] = (await once(this.child, 'message')) as [Arrivals];
    return answer;
  }
}
