import { isDeepStrictEqual } from 'node:util';
import { toDomainEvent } from '../kernel/decider';
import { streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { VOUCHER, type VoucherContent, type VoucherEvent } from './voucher';

/** What one event made of a voucher; `changed` names fields as they are posted. */
export interface VoucherVersion {
  readonly version: number;
  /** ISO 8601. */
  readonly time: string;
  readonly changed: readonly string[];
}

/** Versions told of one voucher: the last ones (`docs/decisions.md#x42`). */
const MOST = 1000;

/** Events read at once: each may hold the longest texts. */
const BATCH = 20;

/**
 * The versions of a voucher, in order, and its program (`docs/decisions.md#v17`): read from its own stream, so that they
 * outlast its deletion. Undefined if there never was such a voucher.
 */
export async function versionsOf(
  log: EventLog,
  id: number,
): Promise<{ readonly programId: number; readonly versions: readonly VoucherVersion[] } | undefined> {
  const stream = streamOf(VOUCHER, id);
  const programId = await programOf(log, stream);
  if (programId === undefined) return undefined;
  const from = Math.max(0, (await lastRevision(log, stream)) - MOST);
  const versions: VoucherVersion[] = [];
  let before: Readonly<Record<string, unknown>> = {};
  for await (const batch of log.readStream(stream, { from, batchSize: BATCH })) {
    for (const recorded of batch) {
      const event = toDomainEvent(recorded) as VoucherEvent;
      const after = fieldsAfter(event, before);
      const changed = event.type === 'VoucherWithdrawn' ? [] : differing(before, after);
      versions.push({ version: recorded.revision + 1, time: event.data.at, changed });
      before = after;
    }
  }
  return { programId, versions: versions.slice(-MOST) };
}

async function programOf(log: EventLog, stream: string): Promise<number | undefined> {
  for await (const [first] of log.readStream(stream, { limit: 1 }))
    if (first !== undefined) return (toDomainEvent(first).data as { readonly programId: number }).programId;
  return undefined;
}

async function lastRevision(log: EventLog, stream: string): Promise<number> {
  for await (const [last] of log.readStream(stream, { backwards: true, limit: 1 }))
    if (last !== undefined) return last.revision;
  return 0;
}

/** The posted fields by name: those of the content, and those that never change. */
function fieldsAfter(
  { type, data }: VoucherEvent,
  { programId, sourceId }: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (type === 'VoucherWithdrawn') return {};
  const { voucher }: { readonly voucher: VoucherContent } = data;
  const origin = type === 'VoucherPublished' ? data : { programId, sourceId };
  return { ...voucher, programId: origin.programId, sourceId: origin.sourceId };
}

function differing(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): readonly string[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}
