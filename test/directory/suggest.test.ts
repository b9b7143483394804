import { CategorySuggester } from '../../src/directory/suggest';
import { sampleNames } from './sample-names';
import { sampleTree } from './sample-tree';

describe('suggestions for advertiser category names (decisions X60)', () => {
  it('have the right one among the first three for 70 % of a sample worded differently from the tree', async () => {
    const suggester = await CategorySuggester.of(sampleTree());
    const names = sampleNames();
    const tree = new Set(sampleTree().flatMap((category) => Object.values(category.names)));
    expect(names.length).toBeGreaterThanOrEqual(200);
    expect(names.filter(({ meant }) => !tree.has(meant))).toEqual([]);
    const verbatim = names.filter(({ name }) => tree.has(name));
    expect(verbatim.length).toBeLessThan(names.length / 20);
    const missed = names.filter(({ name, meant }) =>
      suggester.suggest(name, 3).every(({ path }) => !path.endsWith(meant)),
    );
    expect(missed.length / names.length).toBeLessThanOrEqual(0.3);
  });

  it('have scores from 1, the same path, to 0, the best first', async () => {
    const suggester = await CategorySuggester.of(sampleTree());
    const [same, next] = suggester.suggest('Möbel > Sofas', 2);
    expect(same).toEqual({ categoryId: expect.any(String), path: 'Furniture > Sofas', score: 1 });
    expect(next!.score).toBeLessThan(1);
    expect(suggester.suggest('qqqq', 3)).toEqual([]);
    expect(suggester.suggest(' > ', 3)).toEqual([]);
  });

  it('for a thousand names in a tree of five thousand categories take seconds', async () => {
    const tree = Array.from({ length: 40 }, (_, copy) =>
      sampleTree().map(({ id, parentId, names }) => ({
        id: `${copy + 1}${id.padStart(4, '0')}`,
        parentId: parentId === null ? null : `${copy + 1}${parentId.padStart(4, '0')}`,
        names: { en: `${names['en']} ${copy}`, de: `${names['de']} ${copy}` },
      })),
    ).flat();
    expect(tree.length).toBeGreaterThan(5_000);
    const before = process.cpuUsage();
    const suggester = await CategorySuggester.of(tree);
    const names = sampleNames();
    for (let n = 0; n < 1_000; n += 1) suggester.suggest(names[n % names.length]!.name, 3);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(20);
  });
});
