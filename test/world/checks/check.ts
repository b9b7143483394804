import { type MatchedEvent, type PartitionEvent } from '../../../src/domain/deliveries/delivery-events';
import { groupedBy } from '../../support/oracle';
import { type Clients, type Happened, type InLog } from '../clients';
import { type Disks } from '../host';
import { type MemoryEvents } from '../memory-log';
import { type MemoryCollections } from '../memory-collections';
import { type Network } from '../network';
import { type Receivers } from '../receivers';
import { type Simulation } from '../simulation';
import { type Promised } from './broken';

/** What is known of a world. */
export interface Observed {
  readonly disks: Disks;
  /** The last one was projected without any fault. */
  readonly stores: readonly MemoryCollections[];
  readonly clients: Clients;
  readonly receivers: Receivers;
  readonly network: Network;
  readonly simulation: Simulation;
  /** Streams with events of another program, which nobody can use. */
  readonly unusable: ReadonlySet<string>;
  /** How many entries processes keep in memory when they are at rest, by the names of collections. */
  readonly kept: ReadonlyMap<string, number>;
  /** The same while everything is going on, the most of any process. */
  readonly peaks: ReadonlyMap<string, number>;
}

/** A promise of the system, as a world observes it (`checks.ts` lists all). */
export interface Check extends Promised {
  /** Called when a world is at rest. Raises `Broken`. */
  readonly verify?: (world: Observed) => void;
  /** What the system still has to do, before a world is at rest; undefined: nothing. */
  readonly left?: (world: Observed) => string | undefined;
}

/** Computes something once for each world at rest. */
export function once<Value>(compute: (world: Observed) => Value): (world: Observed) => Value {
  const known = new WeakMap<Observed, { readonly value: Value }>();
  return (world) => {
    const { value } = known.get(world) ?? { value: compute(world) };
    known.set(world, { value });
    return value;
  };
}

interface ReadEvent extends InLog {
  readonly type: string;
  readonly data: unknown;
}

const read = new WeakMap<MemoryEvents, ReadEvent[]>();

/** The events of a log; each is parsed once. */
function eventsIn(log: MemoryEvents): readonly ReadEvent[] {
  const known = read.get(log) ?? [];
  read.set(log, known);
  // Some have expired.
  if (known.at(-1)?.position !== log.all[known.length - 1]?.position) known.length = 0;
  for (const recorded of log.all.slice(known.length)) {
    const data = JSON.parse(recorded.data) as unknown;
    known.push(Object.assign({}, recorded, { data, time: log.timeOf(recorded) }));
  }
  return known;
}

/** What has happened in the log, from an index on; nothing that another program wrote. */
export function historyOf({ disks: { log }, unusable }: Observed, from = 0): readonly Happened[] {
  const usable = eventsIn(log)
    .slice(from)
    .filter(({ stream }) => !unusable.has(stream));
  return usable as readonly Happened[];
}

/** What has happened in the log of a world at rest, by streams. */
export const happenedIn = once((world) => groupedBy(historyOf(world), ({ stream }) => stream));

/** What has happened in a stream of a world at rest. */
export const streamOf = (world: Observed, stream: string): readonly Happened[] =>
  happenedIn(world).get(stream) ?? [];

/** What is in the delivery log. */
export const deliveriesOf = ({ disks: { deliveries } }: Observed) =>
  eventsIn(deliveries) as readonly (InLog & (MatchedEvent | PartitionEvent))[];

/** The id of what a stream is about. */
export const subjectOf = ({ stream }: Pick<InLog, 'stream'>): string => stream.slice(stream.indexOf('-') + 1);
