import { type estypes } from '@elastic/elasticsearch';
import { batchesOf } from '../../runtime/concurrency';
import { type Position } from '../../kernel/event';
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
type Operation = readonly [action: string, source: string];

/**
 * Writes a batch, then its checkpoint. Each operation uses its log position as external version, so the order and
 * repetition of writes do not matter, and a version conflict counts as success.
 *
 * A removal writes a tombstone, an entry that no query finds, for the lifetime of the generation. The server itself
 * would forget the version of a deletion after a minute or at a restart, and an older write would undo the deletion. A
 * removal that may be forgotten is remembered here too.
 */
export async function writeBatch(
  context: IndexContext,
  writes: readonly Write[],
  checkpoint: Position | undefined,
): Promise<void> {
  const { layout } = context;
  const newest = new Map<string, Write>();
  for (const write of writes) {
    if ('put' in write) layout.check(write.put);
    const id = 'put' in write ? write.put.id : write.remove;
    if (write.version >= (newest.get(id)?.version ?? '')) newest.set(id, write);
  }
  function* operations(): Generator<Operation> {
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
  if (checkpoint !== undefined)
    await send(context, [[action(CHECKPOINT, checkpoint), tombstone(checkpoint)]]);
}

/** Versions exceed the integers of JavaScript, so their digits are written as text. */
function action(name: string, version: Position): string {
  const digits = version.replace(/^0+(?=\d)/, '');
  return `{"index":{"_id":${JSON.stringify(name)},"version":${digits},"version_type":"external_gte"}}`;
}

/** An entry without an id, which no query finds. */
function tombstone(version: Position): string {
  return JSON.stringify({ version });
}

/** Sends operations; retries only those that failed because the server is busy. */
async function send({ alias, ask }: IndexContext, operations: readonly Operation[]): Promise<void> {
  let left = operations;
  await ask(async (client, options) => {
    const { errors, items } = await client.bulk(
      {
        index: alias,
        // If the alias is gone, the generation was dropped: do not recreate it as an index.
        require_alias: true,
        operations: left.flat(),
        filter_path: ['errors', 'items.*.status', 'items.*.error'],
      },
      options,
    );
    if (!errors) return;
    const failed = items.map(({ index }) => index).map((item) => (isDone(item) ? undefined : item));
    left = left.filter((_, at) => failed[at] !== undefined);
    const failures = failed.filter((item) => item !== undefined).map(serverErrorOf);
    const fatal = failures.find(({ status }) => status < 429);
    const [worst] = fatal === undefined ? failures : [fatal];
    if (worst !== undefined) throw failureOf(worst);
  });
}

/** Written, or older than the stored version. */
function isDone(item: estypes.BulkResponseItem | undefined): boolean {
  return item !== undefined && (item.status < 300 || item.status === 409);
}

function serverErrorOf({ status, error }: estypes.BulkResponseItem): Parameters<typeof failureOf>[0] {
  return { status, type: error?.type ?? 'unknown', reason: error?.reason ?? 'no reason given' };
}
