import { randomBytes } from 'node:crypto';
import { directoryDecider, type Fact, missingOf } from '../directory/decider';
import { Directory } from '../directory/directory';
import { directoryAt } from '../directory/fold';
import { readNetwork } from '../directory/network-check';
import { networkFacts, networkOf, removalsOf, tokenFact } from '../directory/network-facts';
import { type Network } from '../directory/network-file';
import { tokenHash } from '../directory/token';
import { execute } from '../kernel/decider';
import { type Position, START, streamOf } from '../kernel/event';
import { APPEND_LIMITS, type EventLog } from '../kernel/event-log';

export interface ImportOptions {
  /** When it is said to have happened: ISO 8601. */
  readonly at: string;
  /** Remove what the file does not mention. */
  readonly prune?: boolean;
  /** Told of each token made up, as soon as it is valid: there is no other way to learn it. */
  readonly onToken?: (token: NewToken) => void;
}

export interface NewToken {
  readonly token: string;
  readonly organisationId: number;
  readonly system: string;
  readonly siteId?: number;
}

export interface Imported {
  /** How many events it took: none if the network was like this already. */
  readonly events: number;
  /** Of the last event; `START` if there was none. */
  readonly position: Position;
}

/**
 * Brings the network to what a network file (its JSON) says, appending only what changes. The file is checked as
 * a whole before anything is appended (`NetworkFaults`). Broken off, the same import again completes it; others
 * may write meanwhile.
 */
export async function importNetwork(log: EventLog, json: unknown, options: ImportOptions): Promise<Imported> {
  const { at, prune = false, onToken } = options;
  const directory = await directoryAt(log);
  const present = networkOf(directory);
  const network = readNetwork(json, prune ? networkOf(new Directory()) : present);
  const tokens = tokensFor(network, at);
  const facts = [
    ...networkFacts(network, at),
    ...tokens.keys(),
    ...(prune ? removalsOf(present, network, at) : []),
  ];

  let events = 0;
  let position = START;
  await inParallel(byStream(missingOf(facts, directory)), async (stream) => {
    for (const command of cut(stream)) {
      const [{ category, id }] = command;
      const done = await execute(log, directoryDecider(category), id, command);
      events += done.events.length;
      if (done.position !== undefined && done.position > position) position = done.position;
      for (const fact of command) {
        const token = tokens.get(fact);
        if (token !== undefined && done.events.includes(fact.event)) onToken?.(token);
      }
    }
  });
  return { events, position };
}

/** A token for each entry that has none in the file; it is issued only if it has none in the network either. */
function tokensFor(network: Network, at: string): ReadonlyMap<Fact, NewToken> {
  const without = network.tokens.filter(({ hash }) => hash === undefined);
  return new Map(
    without.map((entry) => {
      const token = randomBytes(20).toString('hex');
      return [
        { ...tokenFact(entry, tokenHash(token), at), ifNone: true },
        { ...entry, token },
      ];
    }),
  );
}

type Facts = readonly [Fact, ...Fact[]];

function byStream(facts: readonly Fact[]): readonly Facts[] {
  const streams = new Map<string, [Fact, ...Fact[]]>();
  for (const fact of facts) {
    const stream = streamOf(fact.category, fact.id);
    const others = streams.get(stream);
    if (others === undefined) streams.set(stream, [fact]);
    else others.push(fact);
  }
  return [...streams.values()];
}

/** Cuts what is wanted of a stream into appends that are not too large. */
function* cut([first, ...others]: Facts): Generator<Facts> {
  let command: [Fact, ...Fact[]] = [first];
  let bytes = sizeOf(first);
  for (const fact of others) {
    bytes += sizeOf(fact);
    if (command.length < APPEND_LIMITS.events && bytes <= APPEND_LIMITS.bytes) {
      command.push(fact);
      continue;
    }
    yield command;
    command = [fact];
    bytes = sizeOf(fact);
  }
  yield command;
}

/** With room for what goes round an event. */
function sizeOf({ event }: Fact): number {
  return Buffer.byteLength(JSON.stringify(event.data)) + 256;
}

/** Enough for appends to share their commits. */
const WORKERS = 128;

/** Works on many at a time; when one fails no other is begun, and those begun have ended. */
async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  // Leaving a loop early closes a generator for all who share it.
  const queue = (function* () {
    yield* items;
  })();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  const ended = await Promise.allSettled(Array.from({ length: WORKERS }, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
