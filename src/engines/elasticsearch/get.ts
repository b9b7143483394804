import { type Found } from '../../kernel/query';
import { type IndexContext } from './connection';
import { failureOf } from './failure';
import { foundOf, nameOf } from './layout';

/** Documents per request, with and without a body limit. */
const BATCH_SIZE = { limited: 100, unlimited: 1_000 } as const;

/** The existing documents with these ids. Sees writes that are not refreshed yet. */
export async function get(
  context: IndexContext,
  ids: readonly string[],
  bodyLimit?: number,
): Promise<readonly Found[]> {
  const names = [...new Set(ids.map(nameOf))];
  const size = bodyLimit === undefined ? BATCH_SIZE.unlimited : BATCH_SIZE.limited;
  const found: Found[] = [];
  let characters = 0;
  for (let from = 0; from < names.length && characters < (bodyLimit ?? Infinity); from += size) {
    const stored = await entries(context, names.slice(from, from + size));
    const some = stored.filter((entry) => 'id' in entry).flatMap(foundOf);
    found.push(...some);
    for (const { body } of some) characters += body.length;
  }
  return found;
}

/** The entries with these names: documents, and for removed documents just the version. */
async function entries(
  { connection, alias, retryMs }: IndexContext,
  names: readonly string[],
): Promise<readonly (Found | Pick<Found, 'version'>)[]> {
  const request = { index: alias, ids: [...names], filter_path: ['docs._source', 'docs.error'] };
  return await connection.ask(async (client, options) => {
    const { docs } = await client.mget<Found>(request, options);
    // The server omits an empty list.
    return ((docs as typeof docs | undefined) ?? []).flatMap((entry) => {
      if ('error' in entry) throw failureOf({ status: 500, type: entry.error.type, reason: '' });
      return entry._source ?? [];
    });
  }, retryMs);
}
