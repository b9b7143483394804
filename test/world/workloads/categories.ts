import { appendFacts } from '../../../src/network/decider';
import { planCategories, readCategories } from '../../../src/network/categories/category-file';
import { changeMappings } from '../../../src/network/categories/change-mappings';
import { directoryAt } from '../../../src/network/directory';
import { type Command } from '../clients';
import { type ApiParts } from '../host';
import { type Feed, FEEDS } from './network-file';

/** A brand is also the name of a category, which feeds map to those of the platform. */
export const BRANDS = ['X', 'Y', 'Z'] as const;
/** Products that are posted with the id of a category of the platform, or with a name there, beside their own. */
export const POSTED_ID = { of: 'e', id: '2' } as const;
export const POSTED_NAME = { of: 'f', name: 'Lamps' } as const;

const CATEGORY_IDS = ['1', '2', '3', '4'] as const;
const NAMES = ['Home', POSTED_NAME.name, 'Garden'] as const;

const handlers = ({ clock, engines: { log }, follower }: ApiParts) => {
  const at = (): string => clock.now().toISOString();
  return {
    map: (feedId: number, name: string, categoryId: string | undefined) => {
      const change = { feedId, name, ...(categoryId === undefined ? {} : { categoryId }) };
      return changeMappings(clock, log, follower, [{ line: 1, change }], {
        at: at(),
        count: async () => [],
      });
    },
    /** As an operator does it, in a process of its own. */
    load: async ({ tree, prune }: Tree) => {
      const present = await directoryAt(log);
      const options = { at: at(), language: 'en', merge: true, prune };
      const { facts } = planCategories(present, readCategories(JSON.stringify(tree)), options);
      return await appendFacts(clock, log, facts, present);
    },
  };
};

interface Tree {
  readonly tree: readonly { readonly id: string; readonly name: string; readonly parentId?: string }[];
  readonly prune: boolean;
}

/** Another tree, or one from before. */
export const importCategories: Command<Tree> = {
  name: 'import categories',
  weight: 2,
  draw: (random, clients) => {
    const before = clients.of(importCategories);
    if (before.length > 0 && random.chance(0.3)) return random.pick(before).what;
    const ids = ['1', ...CATEGORY_IDS.slice(1).filter(() => random.chance(0.6))];
    const tree = ids.map((id, at) => ({
      ...{ id, name: random.pick(NAMES) },
      ...(at === 0 || random.chance(0.3) ? {} : { parentId: random.pick(ids.slice(0, at)) }),
    }));
    return { tree, prune: random.chance(0.6) };
  },
  run: (api, tree) => api.of(handlers).load(tree),
};

/** Where a feed's category is mapped to; undefined: nowhere. */
interface Mapping {
  readonly feed: Feed;
  readonly name: string;
  readonly categoryId: string | undefined;
}

export const mapCategory: Command<Mapping, Awaited<ReturnType<typeof changeMappings>>> = {
  name: 'map category',
  weight: 2,
  draw: (random, clients) => ({
    feed: FEEDS[clients.few(random, FEEDS.length)]!,
    name: BRANDS[clients.few(random, BRANDS.length)]!,
    categoryId: random.chance(0.3) ? undefined : random.pick(CATEGORY_IDS),
  }),
  run: (api, { feed, name, categoryId }) => api.of(handlers).map(feed.id, name, categoryId),
  undone: ({ feed, name, categoryId }) => ({
    command: mapCategory,
    what: { feed, name, categoryId: categoryId === undefined ? CATEGORY_IDS[0] : undefined },
  }),
};
