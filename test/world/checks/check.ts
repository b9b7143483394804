import { type RecordedEvent } from '../../../src/kernel/event';
import { type Clients } from '../clients';
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
}

/** A promise of the system, as a world observes it (`checks.ts` lists all). */
export interface Check extends Promised {
  /** Called when a world is at rest. Raises `Broken`. */
  readonly verify?: (world: Observed) => void;
  /** What the system still has to do, before a world is at rest; undefined: nothing. */
  readonly left?: (world: Observed) => string | undefined;
}

export const dataOf = ({ data }: RecordedEvent) => JSON.parse(data) as Readonly<Record<string, unknown>>;

/** When an event was appended (ms of the world). */
export const timeOf = ({ disks: { log } }: Observed, event: RecordedEvent): number =>
  log.timeOf(event) - EPOCH;

/** The streams of a category by what follows its name. */
export function streamsOf(
  { disks: { log }, unusable }: Observed,
  category: string,
): ReadonlyMap<string, readonly RecordedEvent[]> {
  const names = log.names.filter((name) => name.startsWith(`${category}-`) && !unusable.has(name));
  return new Map(names.map((name) => [name.slice(category.length + 1), log.stream(name)]));
}
