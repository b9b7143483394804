import { type estypes } from '@elastic/elasticsearch';
import { batchesOf } from '../../runtime/concurrency';
import { type Position } from '../../kernel/event';
import { EngineUnavailable } from '../../kernel/event-log';
import { type Write } from '../../kernel/read-store';
import { failureOf, type IndexContext } from './connection';
import { nameOf } from './layout';

/**
 * Limits of one bulk request: documents, characters. Requests are sent one after the other, and the next is prepared
 * while the server works on one. Measured: two at a time leave the server twice as many segments to merge and cost half
 * as much again; requests of a quarter of the size cost a fifth more, as each waits for the disk.
 */
const BULK = { count: 1_000, size: 4_000_000 } as const;

/** The name of the checkpoint's entry; `nameOf` never returns it. */
export const CHECKPOINT = 'checkpoint';

/** One operation of a bulk request, as its two lines. */
type BulkOperation = readonly [action: string, source: string];

/**
 * Writes a batch. Each operation uses its log position as external version, so the order and
 * repetition of writes do not matter, and a version conflict counts as success.
 *
 * A removal writes a tombstone, an entry that no query finds, for the lifetime of the generation. The server itself
 * would forget the version of a deletion after a minute or at a restart, and an older write would undo the deletion. A
 * removal that may be forgotten is remembered here too.
 */
export async function writeBatch(context: IndexContext, writes: readonly Write[]): Promise<void> {
  const { layout } = context;
  const newest = new Map<string, Write>();
  for (const write of writes) {
    if ('put' in write) layout.check(write.put);
    const id = 'put' in write ? write.put.id : write.remove;
    if (write.version >= (newest.get(id)?.version ?? '')) newest.set(id, write);
  }
  function* operations(): Generator<BulkOperation> {
    for (const [id, write] of newest)
      yield [
        action(nameOf(id), write.version),
        'put' in write ? layout.source(write.put, write.version) : tombstone(write.version),
      ];
  }
  let sending = Promise.resolve();
  for (const bulk of batchesOf(operations(), BULK, ([, source]) => source.length)) {
    await sending;
    sending = send(context, bulk);
    // A failure is raised by the `await` above or below. Neither is reached if preparing the next request fails.
    sending.catch(() => undefined);
  }
  await sending;
}

/** Versions exceed the integers of JavaScript, so their digits are written as text. */
function action(name: string, version: Position, index = ''): string {
  const digits = version.replace(/^0+(?=\d)/, '');
  return `{"index":{${index}"_id":${JSON.stringify(name)},"version":${digits},"version_type":"external_gte"}}`;
}

/** An entry without an id, which no query finds. */
function tombstone(version: Position): string {
  return JSON.stringify({ version });
}

/** Stores a checkpoint in the index of an alias. */
export function checkpointIn(alias: string, checkpoint: Position): BulkOperation {
  return [action(CHECKPOINT, checkpoint, `"_index":${JSON.stringify(alias)},`), tombstone(checkpoint)];
}

/** Sends operations; retries only those that failed because the server is busy. */
async function send({ alias, ask }: IndexContext, operations: readonly BulkOperation[]): Promise<void> {
  let left = operations;
  await ask(async (client, options) => {
    const failed = await bulkFailures(client.bulk({ index: alias, ...bulkOf(left.flat()) }, options));
    if (failed.length === 0) return;
    left = left.filter((_, at) => failed[at] !== undefined);
    const failures = failed.filter((failure) => failure !== undefined);
    const worst = failures.find((failure) => !(failure instanceof EngineUnavailable)) ?? failures[0];
    if (worst !== undefined) throw worst;
  });
}

/** A bulk request. If an alias is gone, its generation was dropped: it is not recreated as an index. */
export function bulkOf(operations: string[]): estypes.BulkRequest {
  return { require_alias: true, operations, filter_path: ['errors', 'items.*.status', 'items.*.error'] };
}

/** Why operations of a bulk request have failed, each at its place; empty if none has. */
export async function bulkFailures(
  answer: Promise<estypes.BulkResponse>,
): Promise<readonly (Error | undefined)[]> {
  const { errors, items } = await answer;
  if (!errors) return [];
  return items.map(({ index }) => (isDone(index) ? undefined : failureOf(serverErrorOf(index))));
}

/** Written, or older than the stored version. */
function isDone(item: estypes.BulkResponseItem | undefined): boolean {
  return item !== undefined && (item.status < 300 || item.status === 409);
}

function serverErrorOf(item: estypes.BulkResponseItem | undefined): Parameters<typeof failureOf>[0] {
  const { status = 500, error } = item ?? {};
  return { status, type: error?.type ?? 'unknown', reason: error?.reason ?? 'no reason given' };
}
