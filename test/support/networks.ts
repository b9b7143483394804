import fc from 'fast-check';
import { type System } from '../../src/network/events';
import { type NetworkFile } from '../../src/network/network-file';
import { tokenNamed } from './small-network';

const SYSTEMS: readonly System[] = ['PRODUCTS', 'VOUCHERS', 'CONVERSIONS', 'CLAIMS'];
const id = fc.integer({ min: 1, max: 60 });
const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .map((text) => `${text.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, '')}.`);
const webUrl = fc.nat(999).map((number) => `https://site${number}.example/`);

/** Valid network files. */
export const networks: fc.Arbitrary<NetworkFile> = fc
  .record({
    advertisers: fc.uniqueArray(id, { minLength: 1, maxLength: 4 }),
    publishers: fc.uniqueArray(id, { minLength: 1, maxLength: 4 }),
    programs: fc.uniqueArray(id, { minLength: 1, maxLength: 8 }),
    sites: fc.uniqueArray(id, { minLength: 1, maxLength: 8 }),
    feeds: fc.uniqueArray(id, { maxLength: 8 }),
    categories: fc.uniqueArray(id, { minLength: 1, maxLength: 12 }),
  })
  .chain(({ advertisers, publishers, programs, sites, feeds, categories }) => {
    const publisherIds = publishers.map((number) => 100 + number);
    const ownerOf = (index: number): number => advertisers[index % advertisers.length]!;
    const owned = programs.map((number, index) => ({ id: number, organisationId: ownerOf(index) }));
    const siteOwners = sites.map((number, index) => ({
      id: number,
      organisationId: publisherIds[index % publisherIds.length]!,
    }));
    return fc.record({
      organisations: fc.tuple(
        ...advertisers.map((number) => organisation(number, 'advertiser')),
        ...publisherIds.map((number) => organisation(number, 'publisher')),
      ),
      tokens: fc.subarray([
        ...[...advertisers, ...publisherIds].flatMap((organisationId) =>
          SYSTEMS.map((system) => ({
            organisationId,
            system,
            token: tokenNamed(`${organisationId} ${system}`),
          })),
        ),
        ...siteOwners.map((site) => ({
          organisationId: site.organisationId,
          system: 'PRODUCTS' as const,
          siteId: site.id,
          token: tokenNamed(`site ${site.id}`),
        })),
      ]),
      programs: fc.tuple(...owned.map(program)),
      sites: fc.tuple(...siteOwners.map((site) => fc.record({ ...constants(site), name, url: webUrl }))),
      connections: fc.subarray(
        sites.flatMap((siteId) => programs.map((programId) => ({ siteId, programId }))),
      ),
      feeds: fc.tuple(
        ...feeds.map((number, index) => {
          const candidates = owned.filter(
            ({ organisationId }) => organisationId === ownerOf(index % programs.length),
          );
          const programIds = fc.shuffledSubarray(
            candidates.map((one) => one.id),
            { minLength: 1 },
          );
          return fc.record({
            id: fc.constant(number),
            programIds,
            name,
            language,
            active: fc.boolean(),
            visible: fc.boolean(),
          });
        }),
      ),
      categories: fc.tuple(
        ...categories.map((number, index) =>
          fc.record({
            id: fc.constant(`${number}`),
            parentId: fc.constantFrom(null, ...categories.slice(0, index).map(String)),
            names: fc.record({ en: name, de: name }, { requiredKeys: ['en'] }),
          }),
        ),
      ),
      mappings:
        feeds.length === 0
          ? fc.constant([])
          : fc.uniqueArray(
              fc.record({
                feedId: fc.constantFrom(...feeds),
                name,
                categoryId: fc.constantFrom(...categories.map(String)),
              }),
              { selector: ({ feedId, name: posted }) => `${feedId} ${posted}`, maxLength: 12 },
            ),
    });
  });

const language = fc.constantFrom('de', 'en', 'it', 'nb', 'sv');

type Organisation = NonNullable<NetworkFile['organisations']>[number];
type Program = NonNullable<NetworkFile['programs']>[number];

function organisation(number: number, kind: Organisation['kind']): fc.Arbitrary<Organisation> {
  return fc.record({ id: fc.constant(number), kind: fc.constant(kind), name });
}

function program(owned: Pick<Program, 'id' | 'organisationId'>): fc.Arbitrary<Program> {
  return fc.record(
    {
      ...constants(owned),
      name,
      country: fc.constantFrom('DE', 'IT', 'NO', 'SE'),
      currency: fc.constantFrom('EUR', 'NOK', 'SEK'),
      status: fc.constantFrom('active', 'paused', 'closed'),
      acceptsClaims: fc.boolean(),
      daysToAutoApprove: fc.option(fc.nat(90)),
      events: fc.uniqueArray(event, { selector: (one) => one.id, maxLength: 3 }),
    },
    { requiredKeys: ['id', 'organisationId', 'name', 'country', 'currency'] },
  );
}

const event = fc.record(
  {
    id,
    name,
    kind: fc.constantFrom('sale', 'lead'),
    pendingDays: fc.nat(90),
    inquiry: fc.boolean(),
    commission: fc.oneof(
      fc.nat(10_000).map((cents) => ({ fixed: cents / 100 })),
      fc.nat(100).map((percent) => ({ percent })),
    ),
  },
  { requiredKeys: ['id', 'name', 'kind', 'pendingDays'] },
);

function constants<T extends object>(values: T): { [K in keyof T]: fc.Arbitrary<T[K]> } {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, fc.constant(value as unknown)]),
  ) as { [K in keyof T]: fc.Arbitrary<T[K]> };
}
