import { type RecordedEvent } from '../../../src/kernel/event';
import { type Sent, textOf } from '../clients';
import { importCategories, mapCategory, POSTED_ID, POSTED_NAME } from '../workloads/categories';
import { networkFile } from '../workloads/network-file';
import { require } from './broken';
import { type Check, dataOf, type Observed, timeOf } from './check';

/** A category, or where a name of a feed is mapped to; undefined: it is not there. */
type Value = string | undefined;

/** What an event makes of a category, or of a mapping; undefined: it is about something else. */
function changeIn(event: RecordedEvent): { readonly key: string; readonly value: Value } | undefined {
  const [, category, id = ''] = /^(category|mapping)-(.*)$/.exec(event.stream) ?? [];
  if (category === undefined) return undefined;
  const { names, parentId, name, categoryId } = dataOf(event) as Readonly<Record<string, string>> & {
    readonly names?: { readonly en: string };
  };
  if (category === 'mapping') return { key: `${id} ${name ?? ''}`, value: categoryId };
  return { key: id, value: names && valueOf({ name: names.en, parentId }) };
}

const valueOf = ({
  name,
  parentId,
}: {
  readonly name: string;
  readonly parentId?: string | null | undefined;
}) => `${name} below ${parentId ?? 'nothing'}`;

/** The category tree and all mappings, as their events make them. */
export class Categories {
  private readonly all = new Map<string, string>();

  /** Whether the event was about them. */
  take(event: RecordedEvent): boolean {
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
    const histories = historiesOf(world);
    const wasThere = (one: Sent, key: string, value: Value): void => {
      const versions = histories.get(key) ?? [];
      const before = versions.findLast(({ time }) => time < one.sentAt);
      const during = versions.filter(({ time }) => time >= one.sentAt && time <= one.answeredAt);
      require([before, ...during].some((version) => version?.value === value), () =>
        `${textOf(one)} was acknowledged at ${one.answeredAt}, but ${key} was not ${value ?? 'removed'}`);
    };
    for (const one of world.clients.done(importCategories))
      for (const { id, ...category } of one.what.tree) wasThere(one, id, valueOf(category));
    for (const one of world.clients.done(mapCategory))
      if (one.result.report.every(({ outcome }) => outcome !== 'refused'))
        wasThere(one, `${one.what.feed.id} ${one.what.name}`, one.what.categoryId);
    const asked = new Set(
      networkFile('active').categories?.map(({ id, parentId, names: { en: name } }) =>
        [id, valueOf({ name: name ?? '', parentId })].join(),
      ),
    );
    for (const { what } of world.clients.of(importCategories))
      for (const { id, ...category } of what.tree) asked.add([id, valueOf(category)].join());
    for (const { what } of world.clients.of(mapCategory))
      asked.add([`${what.feed.id} ${what.name}`, what.categoryId].join());
    const isPruned = (id: string): boolean =>
      world.clients
        .of(importCategories)
        .some(({ what: { tree, prune } }) => prune && tree.every((one) => one.id !== id));
    for (const [key, versions] of histories)
      for (const { value } of versions)
        require(asked.has([key, value].join()) || (value === undefined && isPruned(key)), () =>
          `nobody has asked for ${key} to be ${value ?? 'removed'}`);
  },
};

function historiesOf(
  world: Observed,
): ReadonlyMap<string, { readonly time: number; readonly value: Value }[]> {
  const all = new Map<string, { readonly time: number; readonly value: Value }[]>();
  for (const event of world.disks.log.all) {
    const { key, value } = changeIn(event) ?? {};
    if (key !== undefined) all.set(key, [...(all.get(key) ?? []), { time: timeOf(world, event), value }]);
  }
  return all;
}

export const CATEGORIES = [stored] as const;
