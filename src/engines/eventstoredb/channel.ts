import { isIP, isIPv6 } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, type ChannelOptions, credentials } from '@grpc/grpc-js';
import { type Endpoint, type EsdbUrl } from './url';

/** Maximum message size (bytes): enough for the largest event of a server. */
const MESSAGE_BYTES = 17 * 1024 * 1024;

/** HTTP/2 flow control window (bytes): how far the server may send ahead of the consumer. */
const WINDOW_BYTES = 1024 * 1024;

/** What a gRPC channel or client is constructed with. */
type ChannelArguments = readonly [target: string, credentials: ChannelCredentials, options: ChannelOptions];

/**
 * A channel to a server. It is not shared with other clients of the process, and verifies an IP address without sending it as a
 * server name, which Node.js warns about.
 */
export function channelTo({ address, port }: Endpoint, url: EsdbUrl): ChannelArguments {
  const isAddress = isIP(address) !== 0;
  const { interval, timeout } = url.keepAlive;
  const options: ChannelOptions = {
    'grpc.keepalive_time_ms': interval < 0 ? NEVER_MS : interval,
    'grpc.keepalive_timeout_ms': timeout < 0 ? NEVER_MS : timeout,
    'grpc.max_receive_message_length': MESSAGE_BYTES,
    'grpc.use_local_subchannel_pool': 1,
    'grpc-node.flow_control_window': WINDOW_BYTES,
    ...(isAddress && !url.isPlain && { 'grpc.ssl_target_name_override': 'localhost' }),
  };
  const target = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
  return [target, url.isPlain ? credentials.createInsecure() : secure(address, isAddress, url), options];
}

const NEVER_MS = 2 ** 31 - 1;

function secure(address: string, isAddress: boolean, url: EsdbUrl): ChannelCredentials {
  const { authority, key, certificate } = url.pem;
  return credentials.createSsl(authority, key, certificate, {
    rejectUnauthorized: url.verifiesCertificates,
    ...(isAddress && { checkServerIdentity: (_, cert) => checkServerIdentity(address, cert) }),
  });
}
