import { type estypes } from '@elastic/elasticsearch';
import { type Position } from '../../kernel/event';
import { type Write } from '../../kernel/read-store';
import { failureOf } from './failure';
import { type Place } from './search';
import { nameOf } from './tokens';

/**
 * What one request holds at most. They are sent one after the other: two at once would leave the server twice as many
 * segments to merge, half as much work again. While the server works on one, the next is put together. Each is one wait for its disk: a
 * quarter of these documents cost the server a fifth more.
 */
const BULK = { documents: 1_000, characters: 4_000_000 } as const;

/** The name that the checkpoint is kept by: no document has it. */
export const CHECKPOINT = 'checkpoint';

/** One operation: its action and its source, as lines. */
type Operation = readonly [action: string, source: string];

/**
 * Writes a batch, then its checkpoint. Every operation bears its log position as the version that the server
 * compares: so neither order nor repetition matters, and what is refused as older is as good as written.
 *
 * A removal is kept as an entry with nothing to be found by, for as long as the generation lives: the server would
 * forget the version of a deletion after a minute, or at its restart, and an older write would undo it.
 */
export async function writeBatch(
  place: Place,
  writes: readonly Write[],
  checkpoint: Position | undefined,
): Promise<void> {
  const { layout } = place;
  const newest = new Map<string, Write>();
  for (const write of writes) {
    if ('put' in write) layout.check(write.put);
    const id = 'put' in write ? write.put.id : write.remove;
    if (write.version >= (newest.get(id)?.version ?? '')) newest.set(id, write);
  }
  const bulks = cut(newest, (write) =>
    'put' in write ? layout.source(write.put, write.version) : removed(write.version),
  );
  let sent = Promise.resolve();
  for (const bulk of bulks) {
    await sent;
    sent = send(place, bulk);
    // Its failure is told by whoever waits for it; nobody may, when putting the next one together fails.
    sent.catch(() => undefined);
  }
  await sent;
  if (checkpoint !== undefined) await send(place, [[action(CHECKPOINT, checkpoint), removed(checkpoint)]]);
}

/** Cuts a batch into requests, one by one as they are wanted. */
function* cut(
  writes: ReadonlyMap<string, Write>,
  sourceOf: (write: Write) => string,
): Generator<Operation[]> {
  let bulk: Operation[] = [];
  let characters = 0;
  for (const [id, write] of writes) {
    const source = sourceOf(write);
    bulk.push([action(nameOf(id), write.version), source]);
    characters += source.length;
    if (bulk.length < BULK.documents && characters < BULK.characters) continue;
    yield bulk;
    bulk = [];
    characters = 0;
  }
  if (bulk.length > 0) yield bulk;
}

/** Versions are beyond what a JavaScript number holds: they are written as their digits. */
function action(name: string, version: Position): string {
  const digits = version.replace(/^0+(?=\d)/, '');
  return `{"index":{"_id":${JSON.stringify(name)},"version":${digits},"version_type":"external_gte"}}`;
}

/** An entry that no query finds. */
function removed(version: Position): string {
  return JSON.stringify({ version });
}

/** Sends operations until each is written or outdated: those that the server was too busy for, again. */
async function send({ connection, alias, patience }: Place, operations: readonly Operation[]): Promise<void> {
  let left = operations;
  await connection.ask(async (client, options) => {
    const { errors, items } = await client.bulk(
      {
        index: alias,
        // What is not an alias any more was dropped: it must not come into being again.
        require_alias: true,
        operations: left.flat(),
        filter_path: ['errors', 'items.*.status', 'items.*.error'],
      },
      options,
    );
    if (!errors) return;
    const failed = items.map(({ index }) => index).map((item) => (isDone(item) ? undefined : item));
    left = left.filter((_, at) => failed[at] !== undefined);
    const complaints = failed.filter((item) => item !== undefined).map(complaintOf);
    const fatal = complaints.find(({ status }) => status < 429);
    const [worst] = fatal === undefined ? complaints : [fatal];
    if (worst !== undefined) throw failureOf(worst);
  }, patience);
}

/** Written, or older than what is there. */
function isDone(item: estypes.BulkResponseItem | undefined): boolean {
  return item !== undefined && (item.status < 300 || item.status === 409);
}

function complaintOf({ status, error }: estypes.BulkResponseItem): Parameters<typeof failureOf>[0] {
  return { status, type: error?.type ?? 'unknown', reason: error?.reason ?? 'no reason is given' };
}
