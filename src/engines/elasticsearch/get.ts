import { type Found } from '../../kernel/query';
import { failureOf } from './failure';
import { foundOf, type Kept } from './layout';
import { type Place } from './search';
import { nameOf } from './tokens';

/** Documents asked for in one request, where they may be large and where they are known not to be. */
const AT_ONCE = { limited: 100, any: 1_000 } as const;

/** The documents of these ids that are there, whether they have been refreshed or not. */
export async function get(
  place: Place,
  ids: readonly string[],
  bodyLimit?: number,
): Promise<readonly Found[]> {
  const names = [...new Set(ids.map(nameOf))];
  const size = bodyLimit === undefined ? AT_ONCE.any : AT_ONCE.limited;
  const found: Found[] = [];
  let characters = 0;
  for (let from = 0; from < names.length && characters < (bodyLimit ?? Infinity); from += size) {
    const kept = await entries(place, names.slice(from, from + size));
    const some = kept.filter((entry) => 'id' in entry).flatMap(foundOf);
    found.push(...some);
    for (const { body } of some) characters += body.length;
  }
  return found;
}

/** What is kept by these names: documents, and of what was removed the version alone. */
async function entries(
  { connection, alias, patience }: Place,
  names: readonly string[],
): Promise<readonly (Kept | Pick<Kept, 'version'>)[]> {
  const request = { index: alias, ids: [...names], filter_path: ['docs._source', 'docs.error'] };
  return await connection.ask(async (client, options) => {
    const { docs } = await client.mget<Kept>(request, options);
    // Where nothing is there the list is left out of the answer.
    return ((docs as typeof docs | undefined) ?? []).flatMap((entry) => {
      if ('error' in entry) throw failureOf({ status: 500, type: entry.error.type, reason: '' });
      return entry._source ?? [];
    });
  }, patience);
}
