import { createHmac, timingSafeEqual } from 'node:crypto';
import { Sealer } from '../http/sealed';

/** How long a session lasts (ms). */
export const SESSION_MS = 12 * 60 * 60 * 1000;

interface Session {
  readonly token: string;
  /** When it ends (epoch ms). */
  readonly ends: number;
}

/**
 * Sessions of the console. A cookie has all of a session, sealed with a key of the installation: nothing is stored, any
 * process of the installation can read it, and nobody else can, the browser's owner included.
 */
export class Sessions {
  private readonly sealer: Sealer;

  constructor(private readonly key: Uint8Array) {
    this.sealer = new Sealer(key);
  }

  /** Text for a cookie. */
  seal(session: Session): string {
    return this.sealer.seal(Buffer.from(JSON.stringify(session)));
  }

  /** What was sealed; undefined for anything else, and once the session has ended. */
  open(cookie: string, now: number): Session | undefined {
    const opened = this.sealer.open(cookie)?.toString('utf8');
    if (opened === undefined) return undefined;
    const session = JSON.parse(opened) as Session;
    return session.ends > now ? session : undefined;
  }

  /** What forms of a session send with what is filled in: other sites cannot know it. */
  formKey(cookie: string): string {
    return createHmac('sha256', this.key).update(`form ${cookie}`).digest('base64url');
  }

  isFormKey(cookie: string, sent: string): boolean {
    const [expected, got] = [Buffer.from(this.formKey(cookie)), Buffer.from(sent)];
    return expected.length === got.length && timingSafeEqual(expected, got);
  }
}

const MINUTE = 60_000;
/** Failed logins a minute of one address, and addresses that are distinguished. */
const MOST_FAILED = 10;
const MOST_ADDRESSES = 10_000;

/** Counts failed logins in the current minute; those that are being checked count as failed. */
export class FailedLogins {
  private minute = -1;
  private counts = new Map<string, number>();

  /** Begins a login of an address: for how many seconds none is tried, or 0. */
  begin(address: string, now: number): number {
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.minute || this.counts.size > MOST_ADDRESSES) this.counts = new Map();
    this.minute = minute;
    const failed = this.counts.get(address) ?? 0;
    if (failed >= MOST_FAILED) return Math.ceil(((minute + 1) * MINUTE - now) / 1000);
    this.counts.set(address, failed + 1);
    return 0;
  }

  succeeded(address: string): void {
    this.counts.set(address, Math.max(0, (this.counts.get(address) ?? 0) - 1));
  }
}
