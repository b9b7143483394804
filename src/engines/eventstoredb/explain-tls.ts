import { connect as connectTls, type TLSSocket } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { certificateProblem } from '../certificate';
import { detailsOf, Refused, TRUST, tlsProblem } from './failure';
import { type Endpoint, type EsdbUrl } from './url';

/** Time-out (ms) for probing a server. */
const PROBE_MS = 2_000;

/** Whether a failure looks like that of a server that uses TLS: it closes a plain connection without an error. */
export function isSilent(error: unknown): boolean {
  return detailsOf(error).code === status.UNAVAILABLE && !/ECONNREFUSED/.test(String(error));
}

/** For a URL without TLS: whether the server uses it. */
export async function usesTls({ address, port }: Endpoint): Promise<boolean> {
  return (await probe({ host: address, port }, () => true)) ?? false;
}

/** Returns the error of a connection over TLS, or one that says more about the server's certificate. */
export async function explainCertificate(error: unknown, endpoint: Endpoint, url: EsdbUrl): Promise<unknown> {
  if (tlsProblem(error) === undefined) return error;
  const { authority, key, certificate } = url.pem;
  const options = {
    ...{ host: endpoint.address, port: endpoint.port },
    ...(authority && { ca: authority }),
    ...(key && certificate && { key, cert: certificate }),
  };
  const problem = await probe(options, (socket) =>
    // Typed as an error, but it is the code of one.
    certificateProblem(String(socket.authorizationError), TRUST, socket.getPeerCertificate()),
  );
  return problem === undefined ? error : new Refused(problem);
}

/** Connects over TLS, only to look at the connection: no data is sent. Undefined if it cannot be made. */
async function probe<Seen>(
  options: { readonly host: string; readonly port: number },
  look: (socket: TLSSocket) => Seen,
): Promise<Seen | undefined> {
  return await new Promise((resolve) => {
    const socket = connectTls({ ...options, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    const end = (seen?: Seen): void => {
      socket.destroy();
      resolve(seen);
    };
    socket
      .setTimeout(PROBE_MS, () => end())
      .once('secureConnect', () => end(look(socket)))
      .once('error', () => end());
  });
}
