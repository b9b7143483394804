import { type IncomingMessage, type ServerResponse } from 'node:http';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ClusterInfo, EndPoint, MemberInfo } from '@eventstore/db-client/generated/gossip_pb';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { SupportedMethod, SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { type ServiceDefinition } from '@grpc/grpc-js';
import { TICKS_PER_MS, toUuid } from './client-values';

/** The version of EventStoreDB that the endpoint emulates. */
const VERSION = '24.6.0';

/** The methods that clients may call; a client uses the newest one it finds. */
export function supportedMethods(): SupportedMethods {
  const services: readonly ServiceDefinition[] = [StreamsService, GossipService, ServerFeaturesService];
  const methods = services.flatMap((service) => Object.values(service).map(({ path }) => methodOf(path)));
  return new SupportedMethods().setEventStoreServerVersion(VERSION).setMethodsList(methods);
}

/** A cluster of one node, for clients that use cluster discovery. */
export function clusterOf(id: string, address: string, port: number): ClusterInfo {
  const member = new MemberInfo()
    .setInstanceId(toUuid(id, 'numbers'))
    .setTimeStamp(String(Date.now() * TICKS_PER_MS))
    .setState(MemberInfo.VNodeState.LEADER)
    .setIsAlive(true)
    .setHttpEndPoint(new EndPoint().setAddress(address).setPort(port));
  return new ClusterInfo().setMembersList([member]);
}

/** Clients compare the names in lower case. */
function methodOf(path: string): SupportedMethod {
  const [, service = '', method = ''] = path.toLowerCase().split('/');
  return new SupportedMethod().setServiceName(service).setMethodName(method);
}

const INFO = JSON.stringify({
  esVersion: `${VERSION}.0`,
  state: 'leader',
  features: { projections: false, userManagement: false, atomPub: false },
  authentication: { type: 'insecure', properties: {} },
});
const PING = JSON.stringify({ text: 'Ping request successfully handled' });
const EXPLANATION =
  'This is an event log, served to clients of EventStoreDB over gRPC: connect to esdb://host:port?tls=false. ' +
  'Over HTTP/1.1 there are GET /info and GET /ping.\n';

const ANSWERS: Readonly<Record<string, string>> = { '/info': INFO, '/ping': PING };

/** Answers the requests that HTTP/1.1 clients start with; any other path gets an explanation of what this is. */
export function answerHttp1({ method, url = '' }: IncomingMessage, response: ServerResponse): void {
  const path = url.split('?', 1)[0] ?? '';
  const body = method === 'GET' && Object.hasOwn(ANSWERS, path) ? ANSWERS[path] : undefined;
  const type = body === undefined ? 'text/plain; charset=utf-8' : 'application/json';
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': type, connection: 'close' });
  response.end(body ?? EXPLANATION);
}
