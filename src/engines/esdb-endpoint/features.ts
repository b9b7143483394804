import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ClusterInfo, EndPoint, MemberInfo } from '@eventstore/db-client/generated/gossip_pb';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { SupportedMethod, SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { type ServiceDefinition } from '@grpc/grpc-js';
import { toUuid } from './uuid';

/** The version of EventStoreDB whose stream operations these are. */
export const VERSION = '24.6.0';

/** What a client may call: it uses the newest method that is listed. */
export function supportedMethods(): SupportedMethods {
  const services: readonly ServiceDefinition[] = [StreamsService, GossipService, ServerFeaturesService];
  const methods = services.flatMap((service) => Object.values(service).map(({ path }) => methodOf(path)));
  return new SupportedMethods().setEventStoreServerVersion(VERSION).setMethodsList(methods);
}

/** A cluster of this node alone, for clients that look for one. */
export function clusterOf(id: string, address: string, port: number): ClusterInfo {
  const member = new MemberInfo()
    .setInstanceId(toUuid(id, 'numbers'))
    .setTimeStamp(String(Date.now() * TICKS))
    .setState(MemberInfo.VNodeState.LEADER)
    .setIsAlive(true)
    .setHttpEndPoint(new EndPoint().setAddress(address).setPort(port));
  return new ClusterInfo().setMembersList([member]);
}

/** Times are in steps of 100 ns. */
const TICKS = 10_000;

/** Clients compare the names in lower case. */
function methodOf(path: string): SupportedMethod {
  const [, service = '', method = ''] = path.toLowerCase().split('/');
  return new SupportedMethod().setServiceName(service).setMethodName(method);
}
