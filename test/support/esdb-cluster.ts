import { setTimeout as pause } from 'node:timers/promises';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ClusterInfo, EndPoint, MemberInfo } from '@eventstore/db-client/generated/gossip_pb';
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import { TlsFront } from './tls-front';

/** The calls that a leader passes on, as bytes. */
const PASSED = [
  '/event_store.client.streams.Streams/Read',
  '/event_store.client.streams.Streams/BatchAppend',
  '/event_store.client.server_features.ServerFeatures/GetSupportedMethods',
];

const { FOLLOWER, LEADER, UNKNOWN } = MemberInfo.VNodeState;

type Call = ServerDuplexStream<Buffer, Buffer>;

/**
 * A cluster of three that is found by gossip: its leader passes all calls on to a server, its followers name the
 * leader. Without its majority it behaves as EventStoreDB 24.6 does: the followers refuse connections, the leader
 * becomes a node of unknown state, refuses calls, and ends those in progress one after the other.
 */
export class FakeCluster {
  readonly #calls = new Set<Call>();
  readonly #upstream: Client;
  readonly #nodes: { readonly port: number; server: Server }[] = [];
  #hasMajority = true;
  /** Where its leader is served over TLS. */
  #securePort: number | undefined;

  private constructor(target: number) {
    this.#upstream = new Client(`127.0.0.1:${target}`, credentials.createInsecure());
  }

  static async start(target: number): Promise<FakeCluster> {
    const cluster = new FakeCluster(target);
    for (const number of [0, 1, 2]) cluster.#nodes.push(await cluster.#startNode(number, 0));
    return cluster;
  }

  /** Its nodes for a URL: `host:port,host:port`. */
  get hosts(): string {
    return this.#nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  }

  /** Calls in progress. */
  get calls(): number {
    return this.#calls.size;
  }

  /** Serves the leader over TLS as well; gossip names only that. The caller stops it. */
  async overTls(folder: string): Promise<TlsFront> {
    const front = await TlsFront.start(this.#nodes[0]?.port ?? 0, folder);
    this.#securePort = front.port;
    return front;
  }

  /** The leader refuses new calls from now on; those in progress continue until `endCall`. */
  loseMajority(): void {
    this.#hasMajority = false;
    for (const { server } of this.#nodes.slice(1)) server.forceShutdown();
  }

  /** Ends the oldest call in progress. */
  endCall(): void {
    const [call] = this.#calls;
    if (call === undefined) throw new Error('no call is in progress');
    this.#calls.delete(call);
    call.emit('error', { code: status.UNAVAILABLE, details: 'Server Is Not Ready' });
  }

  /** Ends all calls, each a while after the other. */
  async endCalls(everyMs: number): Promise<void> {
    while (this.#calls.size > 0) {
      this.endCall();
      await pause(everyMs);
    }
  }

  async regainMajority(): Promise<void> {
    for (const number of [1, 2]) {
      const { port = 0 } = this.#nodes[number] ?? {};
      this.#nodes[number] = await this.#startNode(number, port);
    }
    this.#hasMajority = true;
  }

  stop(): void {
    for (const { server } of this.#nodes) server.forceShutdown();
    this.#upstream.close();
  }

  async #startNode(number: number, port: number): Promise<{ readonly port: number; server: Server }> {
    const server = new Server();
    server.addService(GossipService, {
      read: (_: unknown, answer: (error: null, info: ClusterInfo) => void) => answer(null, this.#members()),
    });
    const handlers = PASSED.map((path) => [path, (call: Call) => this.#answer(number, path, call)] as const);
    server.addService(RAW, Object.fromEntries(handlers));
    return await new Promise((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve({ port: bound, server }) : reject(error),
      );
    });
  }

  #members(): ClusterInfo {
    const info = new ClusterInfo();
    const nodes = this.#securePort === undefined ? this.#nodes : [{ port: this.#securePort }];
    for (const [number, { port }] of nodes.entries()) {
      const leader = this.#hasMajority ? LEADER : UNKNOWN;
      const member = new MemberInfo()
        .setIsAlive(number === 0 || this.#hasMajority)
        .setState(number === 0 ? leader : FOLLOWER)
        .setHttpEndPoint(new EndPoint().setAddress('127.0.0.1').setPort(port));
      info.addMembers(member);
    }
    return info;
  }

  #answer(number: number, path: string, call: Call): void {
    if (!this.#hasMajority) call.emit('error', { code: status.UNAVAILABLE, details: 'Server Is Not Ready' });
    else if (number > 0) call.emit('error', { code: status.NOT_FOUND, metadata: this.#notLeader() });
    else this.#pass(path, call);
  }

  #notLeader(): Metadata {
    const metadata = new Metadata();
    metadata.set('exception', 'not-leader');
    metadata.set('leader-endpoint-host', '127.0.0.1');
    metadata.set('leader-endpoint-port', String(this.#nodes[0]?.port));
    return metadata;
  }

  #pass(path: string, call: Call): void {
    const passed = this.#upstream.makeBidiStreamRequest(path, raw, raw, call.metadata, {});
    this.#calls.add(call);
    call.on('data', (bytes: Buffer) => passed.write(bytes));
    call.on('end', () => passed.end());
    call.on('cancelled', () => {
      this.#calls.delete(call);
      passed.cancel();
    });
    passed.on('error', () => undefined);
    passed.on('data', (bytes: Buffer) => call.write(bytes));
    passed.on('status', (end) => {
      if (!this.#calls.delete(call)) return;
      if (end.code === status.OK) call.end();
      else call.emit('error', end);
    });
  }
}

function raw(bytes: Buffer): Buffer {
  return bytes;
}

const RAW: ServiceDefinition = Object.fromEntries(
  PASSED.map((path) => [
    path,
    {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: raw,
      requestDeserialize: raw,
      responseSerialize: raw,
      responseDeserialize: raw,
    },
  ]),
);
