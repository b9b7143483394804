import { type RecordedEvent } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type ReadStore } from '../../kernel/read-store';
import { type Directory } from '../../network/directory';
import { UsageError } from '../command-error';

/** How the events of something are folded into what a history shows (`docs/decisions.md#x109`). */

export type Shown = Readonly<Record<string, unknown>>;

/** Names of fields, those within objects with a dot, and their values: absent where there is none. */
export type FieldChanges = Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>;

/** What an event leads to. */
export interface HistoryStep {
  readonly by: string;
  /** What is shown in a history; undefined once it is removed. */
  readonly state: Shown | undefined;
  /** What a history leaves out, since it is long. */
  readonly rest?: () => Shown;
  /** Of what is left out. */
  readonly also?: FieldChanges;
}

/** Called with the events in order. */
export type Fold = (event: RecordedEvent) => HistoryStep;

export interface Folder {
  readonly title: string;
  readonly events: AsyncIterable<readonly RecordedEvent[]>;
  readonly fold: Fold;
}

export interface HistoryParts {
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly directory: Directory;
}

export function integerIn(name: string, sent: string): number {
  if (/^\d{1,15}$/.test(sent)) return Number(sent);
  throw new UsageError(`${name}=${sent.slice(0, 100)}: expected its id, an integer`);
}

/** Of what both may do, if events do not record who has done it. */
export function orOperator(owner: string): string {
  return `${owner} or operator`;
}

/** The advertiser of a program, as far as it is known. */
export function advertiserOf(directory: Directory, programId = NaN): string {
  const owner = directory.program(programId)?.organisationId;
  return owner === undefined ? 'advertiser' : `advertiser ${owner}`;
}
