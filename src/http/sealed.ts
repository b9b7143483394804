import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;

/** What only processes with this key of 32 bytes can read and make. */
export class Sealer {
  constructor(private readonly key: Uint8Array) {}

  /** Text in base64url. */
  seal(content: Uint8Array): string {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv(ALGORITHM, this.key, nonce);
    const sealed = Buffer.concat([cipher.update(content), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** What was sealed; undefined for anything else. */
  open(sealed: string): Buffer | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length <= NONCE + TAG) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.key, bytes.subarray(0, NONCE), {
        authTagLength: TAG,
      });
      decipher.setAuthTag(bytes.subarray(NONCE, NONCE + TAG));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}
