import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** How long a session lasts (ms). */
export const SESSION_MS = 12 * 60 * 60 * 1000;

const ALGORITHM = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;

export interface Session {
  readonly token: string;
  /** When it ends (epoch ms). */
  readonly ends: number;
}

/**
 * Sessions of the console. A cookie has all of a session, sealed with a key of the installation: nothing is stored, any process
 * of the installation can read it, and nobody else can, the browser's owner included.
 */
export class Sessions {
  constructor(private readonly key: Uint8Array) {}

  /** Text for a cookie. */
  seal(session: Session): string {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv(ALGORITHM, this.key, nonce);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(session), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** What was sealed; undefined for anything else, and once the session has ended. */
  open(cookie: string, now: number): Session | undefined {
    const bytes = Buffer.from(cookie, 'base64url');
    if (bytes.length <= NONCE + TAG) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.key, bytes.subarray(0, NONCE), {
        authTagLength: TAG,
      });
      decipher.setAuthTag(bytes.subarray(NONCE, NONCE + TAG));
      const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()]);
      const session = JSON.parse(opened.toString('utf8')) as Session;
      return session.ends > now ? session : undefined;
    } catch {
      return undefined;
    }
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
