import fc from 'fast-check';
import { Candidates, Selector } from '../../../src/domain/subscriptions/selector';
import { type Occurrence } from '../../../src/domain/subscriptions/topic';
import { tokensOf } from '../../../src/wire/words';

type Subscription = readonly [id: number, selector: Selector];

const ORGANISATION = 1;
const selectorOf = ([, selector]: Subscription): Selector => selector;
const id = fc.integer({ min: 1, max: 3 });
const list = fc.uniqueArray(id, { minLength: 1, maxLength: 3 });
const filter = fc.record(
  {
    ...{ stateIds: fc.constant([1]), programIds: list, siteIds: list, eventIds: list },
    keywords: fc.array(fc.constantFrom('a', 'b', 'b c', 'ä', 'ä b', '東京タワー', '', '*'), {
      minLength: 1,
      maxLength: 2,
    }),
  },
  { requiredKeys: ['stateIds'] },
);
const contents = fc.array(fc.record({ siteId: id, filter }, { requiredKeys: ['filter'] }), { maxLength: 20 });
const fact = fc.option(
  fc.oneof(
    id,
    fc.uniqueArray(id).map((all) => new Set(all)),
  ),
  { nil: undefined },
);
const variants = fc.record({
  parties: fc.constantFrom([ORGANISATION], [], new Set([ORGANISATION])),
  programId: fact,
  siteId: fact,
  eventId: fact,
  keyword: fc.option(
    fc
      .constantFrom('', 'a', 'b', 'c b', 'Ä', 'ae b', '東京', '東京タワー a')
      .map((text) => new Set(tokensOf(text))),
    { nil: undefined },
  ),
});
const occurrences = fc.record({ now: variants, then: variants, isChange: fc.boolean() }).map((made) => {
  const about = { subject: 's', sequence: 1, at: '', currencyId: 'EUR', attributes: {}, amounts: [] };
  const now = { ...about, stateId: 1, ...made.now } as Occurrence;
  const disappeared = { ...about, stateId: 1, ...made.then } as Occurrence;
  return made.isChange ? { ...now, otherwise: { appeared: now, disappeared } } : now;
});

/** As `Matcher` asks. */
function selecting(all: readonly Subscription[], occurrence: Occurrence): readonly Subscription[] {
  return all.filter(([, selector]) => selector.of(ORGANISATION, occurrence) !== undefined);
}

describe('the candidates of an occurrence', () => {
  test('are all that select it, in their order (N18)', () => {
    fc.assert(
      fc.property(contents, occurrences, (all, occurrence) => {
        const subscriptions = all.map((content, at) => [at, new Selector(content)] as const);
        const candidates = new Candidates(subscriptions, selectorOf).of(occurrence);
        expect(selecting(candidates, occurrence)).toEqual(selecting(subscriptions, occurrence));
      }),
    );
  });

  test('are few of many that select by site or event', () => {
    const ids = Array.from({ length: 1000 }, (_, at) => at + 1);
    const bySite = ids.map((siteId) => ({ stateIds: [1], siteIds: [siteId], programIds: [1] }));
    const byEvent = ids.map((eventId) => ({ stateIds: [1], eventIds: [eventId] }));
    const subscriptions = [...bySite, ...byEvent].map(
      (filter, at) => [at, new Selector({ filter })] as const,
    );
    const occurrence = {
      programId: 1,
      siteId: 7,
      eventId: 8,
      parties: [ORGANISATION],
    } as unknown as Occurrence;
    const found = new Candidates(subscriptions, selectorOf).of(occurrence);
    expect(found).toEqual([subscriptions[6], subscriptions[1007]]);
  });

  test('are few of many that select by words, whatever sites an occurrence is of', () => {
    const all = Array.from({ length: 1000 }, (_, at) => ({
      stateIds: [1],
      keywords: [`w${at}`, `v${at} lamp`],
    }));
    const subscriptions = all.map((filter, at) => [at, new Selector({ filter, siteId: 1 })] as const);
    const siteId = new Set(Array.from({ length: 5000 }, (_, at) => at));
    const keyword = new Set(tokensOf('A lamp W7 v8'));
    const occurrence = { siteId, keyword, parties: [ORGANISATION] } as unknown as Occurrence;
    const found = new Candidates(subscriptions, selectorOf).of(occurrence);
    expect(found).toEqual([subscriptions[7], subscriptions[8]]);
  });
});
