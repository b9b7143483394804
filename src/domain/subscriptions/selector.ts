import { queryWordsOf } from '../../wire/words';
import { type SubscriptionContent, type SubscriptionFilter } from './subscription';
import { isParty, type Occurrence, variantsOf } from './topic';

/** A condition of a subscription on what it is notified of: a list of its filter, or its site. */
export interface Clause {
  readonly name: keyof SubscriptionFilter | 'siteId';
  readonly allowed: readonly (number | string)[];
  readonly isMet: (occurrence: Occurrence) => boolean;
  /** The value that an occurrence has instead, if it has one. Of several none is named: they may be of others. */
  readonly found: (occurrence: Occurrence) => number | string | undefined;
  /** What of an occurrence has to be in the list. */
  readonly fact?: (occurrence: Occurrence) => FactFound;
  /** Instead of the list: whoever meets the clause has one of these. */
  readonly anyOf?: readonly (number | string)[];
}

type FactFound = number | string | ReadonlySet<number | string> | undefined;

function among(
  name: Clause['name'],
  found: (occurrence: Occurrence) => FactFound,
  allowed: readonly (number | string)[] | undefined,
): Clause | undefined {
  if (allowed === undefined) return undefined;
  const values = new Set(allowed);
  return {
    name,
    allowed,
    isMet: (occurrence) => {
      const value = found(occurrence);
      if (typeof value === 'object') return allowed.some((one) => value.has(one));
      return value !== undefined && values.has(value);
    },
    found: (occurrence) => {
      const value = found(occurrence);
      return typeof value === 'object' ? 'others' : value;
    },
    fact: found,
  };
}

/** Each word of one of the keywords is in the texts (`docs/decisions.md#p4`). */
function keywords(allowed: readonly string[] | undefined): Clause | undefined {
  if (allowed === undefined) return undefined;
  const alternatives = allowed.map((text) => queryWordsOf(text));
  const firsts = alternatives.map(([word = []]) =>
    typeof word === 'string' ? [word] : word.flatMap(([all]) => all ?? []),
  );
  return {
    name: 'keywords',
    allowed,
    // What has no word is in all texts.
    ...(firsts.every(({ length }) => length > 0) && { fact: ({ keyword }) => keyword, anyOf: firsts.flat() }),
    isMet: ({ keyword }) => {
      if (typeof keyword !== 'object') return false;
      const has = (token: string): boolean => keyword.has(token);
      return alternatives.some((words) =>
        words.every((word) => (typeof word === 'string' ? has(word) : word.some((all) => all.every(has)))),
      );
    },
    found: () => 'its texts',
  };
}

/** Lists that tell most occurrences apart, the best first. */
const NARROW: readonly Clause['name'][] = ['siteId', 'siteIds', 'eventIds', 'feedIds', 'programIds'];

/** Prices that fell by this much, in per cent; all of what is not about the fall of a price. */
function fallOf(least: number | undefined): Clause | undefined {
  if (least === undefined) return undefined;
  return {
    name: 'minFallPercent',
    allowed: [least],
    isMet: ({ fall = Infinity }) => fall >= least,
    found: ({ fall }) => fall && Math.floor(fall * 100) / 100,
  };
}

/** What a subscription selects. */
export class Selector {
  private readonly clauses: readonly Clause[];
  private readonly beyondState: readonly Clause[];

  constructor({ filter, siteId: own }: Pick<SubscriptionContent, 'filter' | 'siteId'>) {
    const languages = filter.languageIds?.map((code) => code.toLowerCase());
    this.beyondState = [
      among('siteId', ({ siteId }) => siteId, own === undefined ? undefined : [own]),
      among('programIds', ({ programId }) => programId, filter.programIds),
      among('siteIds', ({ siteId }) => siteId, filter.siteIds),
      among('eventIds', ({ eventId }) => eventId, filter.eventIds),
      among('eventTypeIds', ({ eventTypeId }) => eventTypeId, filter.eventTypeIds),
      among('voucherTypeIds', ({ voucherTypeId }) => voucherTypeId, filter.voucherTypeIds),
      among('languageIds', ({ languageId }) => languageId, languages),
      among('feedIds', ({ feedId }) => feedId, filter.feedIds),
      fallOf(filter.minFallPercent),
      among('tdCategoryIds', ({ tdCategoryId }) => tdCategoryId, filter.tdCategoryIds),
      keywords(filter.keywords),
    ].filter((clause) => clause !== undefined);
    const state = among('stateIds', ({ stateId }) => stateId, filter.stateIds);
    this.clauses = [state ?? [], this.beyondState].flat();
  }

  /** What messages to the organisation are about; undefined: there are none. */
  of(organisationId: number, occurrence: Occurrence): Occurrence | undefined {
    const seen = this.seenBy(organisationId, occurrence);
    return isSeen(seen, organisationId, this.clauses) ? seen : undefined;
  }

  /** What an occurrence is to the organisation, whatever state is selected. */
  seenBy(organisationId: number, occurrence: Occurrence): Occurrence {
    const { otherwise } = occurrence;
    if (otherwise === undefined) return occurrence;
    const isBefore = isSeen(otherwise.disappeared, organisationId, this.beyondState);
    if (isSeen(occurrence, organisationId, this.beyondState))
      return isBefore ? occurrence : otherwise.appeared;
    return isBefore || !isParty(occurrence, organisationId) ? otherwise.disappeared : occurrence;
  }

  /** Keywords, or the shortest list of ids of which few occurrences have one. */
  get narrowest(): Clause | undefined {
    const words = this.beyondState.find(({ anyOf }) => anyOf !== undefined);
    if (words !== undefined) return words;
    const lists = NARROW.map((name) => this.beyondState.find((clause) => clause.name === name));
    return lists.reduce((shortest, list) =>
      shortest === undefined || (list !== undefined && list.allowed.length < shortest.allowed.length)
        ? list
        : shortest,
    );
  }

  /** The clauses that an occurrence does not meet. */
  exclusions(occurrence: Occurrence): readonly Clause[] {
    return this.clauses.filter(({ isMet }) => !isMet(occurrence));
  }
}

function isSeen(occurrence: Occurrence, organisationId: number, clauses: readonly Clause[]): boolean {
  // Most occurrences are excluded by a clause, and each subscription is asked.
  for (const { isMet } of clauses) if (!isMet(occurrence)) return false;
  return isParty(occurrence, organisationId);
}

/**
 * Finds the few subscriptions that may select an occurrence by the narrowest list of each, since one organisation may
 * have thousands and each selector takes its time.
 */
export class Candidates<Subscription> {
  private readonly all: readonly Subscription[];
  /** Places in `all`, by clause and id. */
  private readonly listed = new Map<Clause['name'], { fact: Required<Clause>['fact']; places: Places }>();
  private readonly unlisted: number[] = [];

  constructor(all: Iterable<Subscription>, selectorOf: (subscription: Subscription) => Selector) {
    this.all = [...all];
    for (const [place, subscription] of this.all.entries()) {
      const { name, fact, allowed = [], anyOf = allowed } = selectorOf(subscription).narrowest ?? {};
      if (name === undefined || fact === undefined) {
        this.unlisted.push(place);
        continue;
      }
      const { places } = this.listed.get(name) ?? { places: new Map<number | string, number[]>() };
      this.listed.set(name, { fact, places });
      for (const id of new Set(anyOf)) {
        const others = places.get(id);
        if (others === undefined) places.set(id, [place]);
        else others.push(place);
      }
    }
  }

  /** In their order. Those left out select it in none of its variants. */
  of(occurrence: Occurrence): readonly Subscription[] {
    const found = new Set(this.unlisted);
    for (const { fact, places } of this.listed.values())
      for (const variant of variantsOf(occurrence))
        for (const id of idsIn(fact(variant), places))
          for (const place of places.get(id) ?? []) found.add(place);
    const places = [...found].sort((one, other) => one - other);
    return places.flatMap((place) => this.all.slice(place, place + 1));
  }
}

type Places = Map<number | string, number[]>;

/** Those of a fact that may be listed: of two sets, the smaller one is gone through. */
function idsIn(fact: FactFound, places: Places): Iterable<number | string> {
  if (typeof fact !== 'object') return fact === undefined ? [] : [fact];
  return fact.size <= places.size ? fact : [...places.keys()].filter((id) => fact.has(id));
}
