import { setTimeout as pause } from 'node:timers/promises';
import { determineBestNode, type MemberInfo } from '@eventstore/db-client/dist/Client/discovery';
import { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { type ClusterInfo } from '@eventstore/db-client/generated/gossip_pb';
import { Empty } from '@eventstore/db-client/generated/shared_pb';
import { Metadata } from '@grpc/grpc-js';
import { channelTo } from './channel';
import { explainCertificate } from './explain-tls';
import { NoNode, tlsProblem } from './failure';
import { type Discovery, type Endpoint, type EsdbUrl } from './url';

/**
 * Asks the servers of a cluster, in random order, for its leader, or another node that is alive. The server that failed is asked
 * last. Raises `NoNode` after the attempts of the URL, a problem with TLS at once if all servers have one, and the reason of `signal`.
 */
export async function discover(
  url: EsdbUrl,
  discovery: Discovery,
  failed: Endpoint | undefined,
  signal: AbortSignal,
): Promise<Endpoint> {
  const isFailed = ({ address, port }: Endpoint): boolean =>
    address === failed?.address && port === failed.port;
  let failure: unknown;
  for (let attempt = 1; ; attempt += 1) {
    const ranked = url.endpoints.map((seed) => ({ seed, rank: Math.random() + (isFailed(seed) ? 1 : 0) }));
    const distrusted: { readonly seed: Endpoint; readonly error: unknown }[] = [];
    for (const { seed } of ranked.sort((a, b) => a.rank - b.rank)) {
      try {
        const node = determineBestNode(discovery.preference, await membersAt(seed, url, discovery, signal));
        if (node !== undefined) return node;
      } catch (error) {
        signal.throwIfAborted();
        if (tlsProblem(error) === undefined) failure = error;
        else distrusted.push({ seed, error });
      }
    }
    const isHopeless = distrusted.length === ranked.length;
    const isLast = attempt >= discovery.attempts;
    if (isHopeless || isLast) {
      const [one] = distrusted;
      const problem = one && (await explainCertificate(one.error, one.seed, url));
      throw isHopeless ? problem : new NoNode(failure, problem);
    }
    await pause(discovery.intervalMs, undefined, { signal });
  }
}

/** The members of the cluster that a server knows. */
async function membersAt(
  seed: Endpoint,
  url: EsdbUrl,
  { timeoutMs }: Discovery,
  signal: AbortSignal,
): Promise<MemberInfo[]> {
  const client = new GossipClient(...channelTo(seed, url));
  let cancel = (): void => undefined;
  try {
    return await new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + timeoutMs };
      const call = client.read(new Empty(), new Metadata(), options, (error, info) =>
        error === null ? resolve(toMembers(info)) : reject(error),
      );
      cancel = () => call.cancel();
      signal.addEventListener('abort', cancel);
    });
  } finally {
    signal.removeEventListener('abort', cancel);
    client.close();
  }
}

function toMembers(info: ClusterInfo): MemberInfo[] {
  return info.getMembersList().map((member) => {
    const endpoint = member.getHttpEndPoint();
    return {
      timeStamp: Number(member.getTimeStamp()),
      state: member.getState(),
      isAlive: member.getIsAlive(),
      ...(endpoint && { httpEndpoint: { address: endpoint.getAddress(), port: endpoint.getPort() } }),
    };
  });
}
