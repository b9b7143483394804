import { networkOf, readNetwork } from '../../src/network/network-facts';
import { Directory } from '../../src/network/directory';
import { CATEGORIES, demoNetwork } from '../../src/demo/network';

describe('The demo network', () => {
  const network = readNetwork(demoNetwork(), networkOf(new Directory()));

  it('is a consistent network file, whatever exists already', () => {
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

  it('contains no token: the import generates unique ones', () => {
    expect(network.tokens.map(({ hash }) => hash)).toEqual(network.tokens.map(() => undefined));
  });

  it('has a category tree of three levels without duplicate names (decisions P13)', () => {
    const ids = Object.keys(CATEGORIES);
    expect(new Set(ids.map((id) => id.length))).toEqual(new Set([1, 2, 3]));
    const names = Object.values(CATEGORIES).flatMap((translations) => [...new Set(translations)]);
    expect(new Set(names).size).toBe(names.length);
  });
});
