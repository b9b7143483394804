import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server, type TLSSocket } from 'node:tls';

/** A TLS proxy with a self-signed certificate for a server without TLS. */
export class TlsFront {
  private constructor(
    private readonly server: Server,
    private readonly sockets: ReadonlySet<TLSSocket>,
    /** File with the certificate to trust. */
    readonly certificate: string,
  ) {}

  /** Forwards to the local port `target`; writes the certificate to `folder`. */
  static async start(target: number, folder: string, content: Partial<Content> = {}): Promise<TlsFront> {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const cert = selfSigned(publicKey, privateKey, { ...VALID, ...content });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const sockets = new Set<TLSSocket>();
    const server = createServer({ cert, key, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
      sockets.add(socket);
      const plain = connect(target, '127.0.0.1');
      const end = (): void => {
        sockets.delete(socket);
        socket.destroy();
        plain.destroy();
      };
      for (const side of [socket, plain]) side.once('error', end).once('close', end);
      socket.pipe(plain).pipe(socket);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const certificate = join(folder, `${randomUUID()}.pem`);
    await writeFile(certificate, cert);
    return new TlsFront(server, sockets, certificate);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** What a certificate says: when it is valid (`YYYYMMDDHHMMSSZ`), for which name and IPv4 address. */
interface Content {
  readonly from: string;
  readonly until: string;
  readonly name: string;
  readonly address: readonly number[];
}

const VALID: Content = {
  from: '20200101000000Z',
  until: '29991231235959Z',
  name: 'localhost',
  address: [127, 0, 0, 1],
};

/** A PEM certificate: X.509 (RFC 5280) in DER. */
function selfSigned(publicKey: KeyObject, privateKey: KeyObject, content: Content): string {
  const name = sequence(set(sequence(COMMON_NAME, tagged(0x0c, Buffer.from(content.name)))));
  const time = (date: string): Buffer => tagged(0x18, Buffer.from(date));
  const names = sequence(tagged(0x82, Buffer.from(content.name)), tagged(0x87, Buffer.from(content.address)));
  const signed = sequence(
    tagged(0xa0, integer(2)),
    integer(1),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(content.from), time(content.until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(sequence(SUBJECT_ALT_NAME, tagged(0x04, names)))),
  );
  const signature = tagged(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', signed, privateKey)]));
  const der = sequence(signed, ECDSA_WITH_SHA256, signature);
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function set(part: Buffer): Buffer {
  return tagged(0x31, part);
}

function integer(value: number): Buffer {
  return tagged(0x02, Buffer.from([value]));
}

/** Object identifiers 2.5.4.3, 2.5.29.17, 1.2.840.10045.4.3.2. */
const COMMON_NAME = Buffer.from('0603550403', 'hex');
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex');
const ECDSA_WITH_SHA256 = sequence(Buffer.from('06082a8648ce3d040302', 'hex'));
