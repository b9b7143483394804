import { type RecordedEvent } from '../../../src/kernel/event';
import { type Clients, type Happened } from '../clients';
import { type Disks } from '../host';
import { type MemoryCollections } from '../memory-store';
import { type Network } from '../network';
import { type Receivers } from '../receivers';
import { EPOCH, type Simulation } from '../simulation';
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

type Data = Readonly<Record<string, unknown>>;

const parsed = new WeakMap<RecordedEvent, Data>();

export function dataOf(event: RecordedEvent): Data {
  const data = parsed.get(event) ?? (JSON.parse(event.data) as Data);
  parsed.set(event, data);
  return data;
}

const known = new WeakMap<Observed, ReadonlyMap<string, readonly Happened[]>>();

/** What has happened in the log of a world at rest, by streams; nothing that another program wrote. */
export function happenedIn(world: Observed): ReadonlyMap<string, readonly Happened[]> {
  const before = known.get(world);
  if (before !== undefined) return before;
  const streams = new Map<string, Happened[]>();
  for (const event of world.disks.log.all) {
    const { stream, type, position } = event;
    if (world.unusable.has(stream)) continue;
    const happened = { type, stream, position, time: timeOf(world, event), data: dataOf(event) };
    streams.set(stream, [...(streams.get(stream) ?? []), happened as unknown as Happened]);
  }
  known.set(world, streams);
  return streams;
}

/** When an event was appended (ms of the world). */
export const timeOf = ({ disks: { log } }: Observed, event: RecordedEvent): number =>
  log.timeOf(event) - EPOCH;
