import { readNetwork } from '../../src/directory/network-check';
import { networkOf } from '../../src/directory/network-facts';
import { Directory } from '../../src/directory/directory';
import { demoNetwork } from '../../src/demo/network';
import { CATEGORIES } from '../../src/demo/categories';

describe('The demonstration network', () => {
  const network = readNetwork(demoNetwork(), networkOf(new Directory()));

  it('is a network file that holds together, whatever is there already', () => {
    expect(network.organisations.map(({ kind }) => kind)).toEqual([
      'advertiser',
      'advertiser',
      'publisher',
      'publisher',
      'operator',
    ]);
  });

  it('has feeds in two currencies and two languages', () => {
    const currencies = network.feeds.map(
      ({ programIds }) => network.programs.find(({ id }) => id === programIds[0])?.currency,
    );
    expect(new Set(currencies)).toEqual(new Set(['EUR', 'GBP']));
    expect(new Set(network.feeds.map(({ language }) => language))).toEqual(new Set(['de', 'en']));
  });

  it('bears no token: those made up by the import are nobody else’s', () => {
    expect(network.tokens.map(({ hash }) => hash)).toEqual(network.tokens.map(() => undefined));
  });

  it('has a category tree of three levels, and no name for two categories (decisions P13)', () => {
    const ids = Object.keys(CATEGORIES);
    expect(new Set(ids.map((id) => id.length))).toEqual(new Set([1, 2, 3]));
    const borne = Object.values(CATEGORIES).flatMap((names) => [...new Set(names)]);
    expect(new Set(borne).size).toBe(borne.length);
  });
});
