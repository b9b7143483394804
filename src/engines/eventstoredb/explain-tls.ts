import { connect as connectTls } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { detailsOf, Refused } from './failure';
import { type Endpoint, type EsdbUrl } from './url';

/** Time-out (ms) for probing whether a server uses TLS. */
const TLS_PROBE_MS = 2_000;

/** Returns the error, or a more helpful one: a server that uses TLS closes a plain connection without an error. */
export async function explainTls(error: unknown, endpoint: Endpoint, { isPlain }: EsdbUrl): Promise<unknown> {
  const isSilent = detailsOf(error).code === status.UNAVAILABLE && !/ECONNREFUSED/.test(String(error));
  if (!isPlain || !isSilent || !(await usesTls(endpoint))) return error;
  return new Refused('it uses TLS: remove tls=false from the URL');
}

async function usesTls({ address, port }: Endpoint): Promise<boolean> {
  return await new Promise((resolve) => {
    // Only a probe for TLS: no data is sent, and the certificate is not trusted.
    const socket = connectTls({ host: address, port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    const end = (usesTls: boolean) => (): void => {
      socket.destroy();
      resolve(usesTls);
    };
    socket.setTimeout(TLS_PROBE_MS, end(false)).once('secureConnect', end(true)).once('error', end(false));
  });
}
