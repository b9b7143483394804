import { type NetworkChange, changesOf } from '../../src/network/changes';
import { type Fact } from '../../src/network/decider';
import { Directory } from '../../src/network/directory';
import { networkFacts, networkOf, readNetwork, removalsOf } from '../../src/network/network-facts';
import { tokenHash } from '../../src/network/organisations';
import { smallNetwork, tokenNamed } from '../support/small-network';

const AT = '2026-01-05T08:00:00.000Z';

function factsOf(file: object): readonly Fact[] {
  return networkFacts(readNetwork(file, networkOf(new Directory())), AT);
}

function smallDirectory(): Directory {
  const directory = new Directory();
  for (const { event } of factsOf(smallNetwork())) directory.evolve(event);
  return directory;
}

const textOf = ({ does, kind, id, details }: NetworkChange): string => `${does} ${kind} ${id}: ${details}`;

describe('The changes that facts would make (decisions X93)', () => {
  it('are one for each entity of a new network', () => {
    const changes = changesOf(factsOf(smallNetwork()), new Directory());
    expect(new Set(changes.map(({ does }) => does))).toEqual(new Set(['created']));
    // The status of program 41 is an event of its own.
    expect(changes).toHaveLength(factsOf(smallNetwork()).length - 1);
  });

  it('are none if everything is true already', () => {
    expect(changesOf(factsOf(smallNetwork()), smallDirectory())).toEqual([]);
  });

  it.each<[string, (file: ReturnType<typeof smallNetwork>) => void, string]>([
    [
      'a name',
      ({ organisations }) => (organisations[0]!.name = 'Fjord'),
      'changed organisation 3: "Fjord": name "Fjord Cycles" -> "Fjord"',
    ],
    [
      'a status and a currency',
      ({ programs }) => Object.assign(programs[1]!, { currency: 'CHF', status: 'closed' }),
      'changed program 32: "Fjord Cycles DE": currency "EUR" -> "CHF", status active -> closed',
    ],
    [
      'a token',
      ({ tokens }) => (tokens[0]!.token = tokenNamed('new')),
      `changed token organisation 3, PRODUCTS: replaces ${tokenHash(tokenNamed('fjord')).slice(0, 12)}`,
    ],
    [
      'a URL',
      ({ sites }) => (sites[0]!.url = 'https://x.example/'),
      'changed site 51: "tarifkompass.example": url "https://tarifkompass.example/" -> "https://x.example/"',
    ],
    [
      'a connection',
      ({ connections }) => connections.push({ siteId: 51, programId: 31 }),
      'created connection site 51, program 31: ',
    ],
    [
      'a parent',
      ({ categories }) => (categories[4]!.parentId = null),
      'changed category 81: "Lamps": parentId "8" -> null',
    ],
    [
      'a mapping',
      ({ mappings }) => (mappings[0]!.categoryId = '421'),
      'changed mapping feed 301, "Lys & reflekser": 42 -> 421',
    ],
  ])('name what changes: %s', (_, change, expected) => {
    const file = smallNetwork();
    change(file);
    expect(changesOf(factsOf(file), smallDirectory()).map(textOf)).toEqual([expected]);
  });

  it('name what is removed, of every kind', () => {
    const directory = smallDirectory();
    const facts = removalsOf(networkOf(directory), networkOf(new Directory()), AT);
    const changes = changesOf(facts, directory);
    expect(changes).toHaveLength(facts.length);
    expect(new Set(changes.map(({ does }) => does))).toEqual(new Set(['removed']));
    const texts = changes.map(textOf);
    for (const text of [
      'removed mapping feed 301, "Lys & reflekser": 42',
      'removed category 42: "Lights"',
      'removed feed 303: "Fjord hidden"',
      'removed connection site 51, program 32: ',
      'removed site 52: "Tarifkompass app"',
      'removed program 41: "Ruota Libera"',
      'removed organisation 5: "Tarifkompass"',
    ])
      expect(texts).toContain(text);
    expect(texts.filter((text) => text.startsWith('removed token'))).toHaveLength(6);
  });
});
