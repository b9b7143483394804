import { groupedBy } from '../../support/oracle';
import { type Happened, type Sent, textOf } from '../clients';
import { importCategories, mapCategory, POSTED_ID, POSTED_NAME } from '../workloads/categories';
import { networkFile } from '../workloads/network-file';
import { require } from './broken';
import { type Check, historyOf } from './check';

/** A category, or where a name of a feed is mapped to; undefined: it is not there. */
type Value = string | undefined;

const valueOf = (name: string, parentId: string | null = null) => `${name} below ${parentId ?? 'nothing'}`;

/** What an event makes of a category, or of a mapping; undefined: it is about something else. */
function changeIn({ type, data }: Happened): { readonly key: string; readonly value: Value } | undefined {
  switch (type) {
    case 'CategoryDefined':
      return { key: data.id, value: valueOf(data.names['en'] ?? '', data.parentId) };
    case 'CategoryRemoved':
      return { key: data.id, value: undefined };
    case 'CategoryMapped':
      return { key: `${data.feedId} ${data.name}`, value: data.categoryId };
    case 'CategoryUnmapped':
      return { key: `${data.feedId} ${data.name}`, value: undefined };
    default:
      return undefined;
  }
}

/** The category tree and all mappings, as their events make them. */
export class Categories {
  private readonly all = new Map<string, string>();

  /** Whether the event was about them. */
  take(event: Happened): boolean {
    const change = changeIn(event);
    if (change?.value === undefined) this.all.delete(change?.key ?? '');
    else this.all.set(change.key, change.value);
    return change !== undefined;
  }

  /** The category of a product of a feed (P13), by what `productOf` posts; empty: none. */
  of(feedId: number, id: string, brand: string): string {
    if (id === POSTED_ID.of && this.all.has(POSTED_ID.id)) return POSTED_ID.id;
    const named = [...this.all].filter(([, value]) => value.startsWith(`${POSTED_NAME.name} below`));
    if (id === POSTED_NAME.of && named.length === 1) return named[0]![0];
    const mapped = this.all.get(`${feedId} ${brand}`) ?? '';
    return this.all.has(mapped) ? mapped : '';
  }
}

const stored: Check = {
  promise:
    'A category tree or a mapping that was acknowledged was there, and nothing is there that nobody has asked for (P13, P29).',
  verify: (world) => {
    const changes = historyOf(world).flatMap((event) => {
      const change = changeIn(event);
      return change === undefined ? [] : { ...change, time: event.time };
    });
    const histories = groupedBy(changes, ({ key }) => key);
    const wasThere = (one: Sent, key: string, value: Value): void => {
      const versions = histories.get(key) ?? [];
      const before = versions.findLast(({ time }) => time < one.sentAt);
      const during = versions.filter(({ time }) => time >= one.sentAt && time <= one.answeredAt);
      require([before, ...during].some((version) => version?.value === value), () =>
        `${textOf(one)} was acknowledged at ${one.answeredAt}, but ${key} was not ${value ?? 'removed'}`);
    };
    const { clients } = world;
    for (const one of clients.done(importCategories))
      for (const { id, name, parentId } of one.what.tree) wasThere(one, id, valueOf(name, parentId));
    for (const one of clients.done(mapCategory))
      if (one.result.report.every(({ outcome }) => outcome !== 'refused'))
        wasThere(one, `${one.what.feed.id} ${one.what.name}`, one.what.categoryId);
    const trees = clients.of(importCategories).map(({ what }) => what);
    const asked = new Set(
      [
        ...(networkFile('active').categories ?? []).map(
          (one) => [one.id, valueOf(one.names['en'] ?? '', one.parentId)] as const,
        ),
        ...trees.flatMap(({ tree }) => tree.map((one) => [one.id, valueOf(one.name, one.parentId)] as const)),
        ...clients.of(mapCategory).map(({ what }) => [`${what.feed.id} ${what.name}`, what.categoryId]),
      ].map(String),
    );
    const isPruned = (id: string): boolean =>
      trees.some(({ tree, prune }) => prune && tree.every((one) => one.id !== id));
    for (const { key, value } of changes)
      require(asked.has([key, value].join()) || (value === undefined && isPruned(key)), () =>
        `nobody has asked for ${key} to be ${value ?? 'removed'}`);
  },
};

export const CATEGORIES = [stored] as const;
