import { type IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb';
import { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb';
import {
  type Answers,
  type ReplayServer,
  type ReplayOptions,
  serveStreams,
} from '../../../src/replay/serve-replay';
import { type EventLog } from '../../../src/kernel/event-log';
import { writableStreams } from '../esdb-writing/serve-writable';
import { BusyLog } from './busy-log';
import { InFlightWriter } from './in-flight-writer';
import { likeDotNet } from './prefixes';

/** Interval (ms) at which the server itself appends an event. */
const TICK = 250;

/**
 * Serves a log like an EventStoreDB 24.6 at its most awkward, with one behaviour of later versions: positions have
 * gaps, the server itself and other programs append too, filters by prefix are culture-sensitive, a repeated append
 * times out while the first one is in flight, and a read of all events with a maximum of 0 never ends.
 */
export async function serveAwkward(log: EventLog, options: ReplayOptions): Promise<ReplayServer> {
  const busy = new BusyLog(log);
  await busy.begin();
  const endpoint = await serveStreams((answers) => awkwardStreams(busy, answers), options);
  const ticking = setInterval(() => void busy.tick().catch(options.report), TICK);
  return {
    ...endpoint,
    async close() {
      clearInterval(ticking);
      await endpoint.close();
    },
  };
}

function awkwardStreams(log: BusyLog, answers: Answers): IStreamsServer {
  const streams = writableStreams(log, new InFlightWriter(log, Date.now), answers);
  return {
    ...streams,
    read(call) {
      const options = call.request.getOptions();
      const filter = options?.getFilter();
      likeDotNet(filter?.getStreamIdentifier());
      likeDotNet(filter?.getEventType());
      withCheckpointPastTheEnd(call);
      if (options === undefined || !isEndless(options)) streams.read(call);
    },
  };
}

/** Smaller than the gap between two positions. */
const PAST = 100n;

/** The position after the last event: servers from version 25 on send it as the checkpoint of the end of the log. */
function withCheckpointPastTheEnd(call: { write(message: ReadResp): boolean }): void {
  const write = call.write.bind(call);
  let last: bigint | undefined;
  call.write = (message) => {
    const sent = message.getEvent()?.getEvent()?.getCommitPosition();
    if (sent !== undefined) last = BigInt(sent);
    if (message.hasCaughtUp() && last !== undefined) {
      const past = new ReadResp.Checkpoint().setCommitPosition(String(last + PAST)).setPreparePosition('0');
      write(new ReadResp().setCheckpoint(past));
    }
    return write(message);
  };
}

/** EventStoreDB reads one empty page after another. */
function isEndless(options: ReadReq.Options): boolean {
  const { COUNT } = ReadReq.Options.CountOptionCase;
  return options.hasAll() && options.getCountOptionCase() === COUNT && options.getCount() === '0';
}
