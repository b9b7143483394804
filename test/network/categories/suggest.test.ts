import { readCategories } from '../../../src/network/categories/category-file';
import { type CategoryDefinition } from '../../../src/network/events';
import { CategorySuggester } from '../../../src/network/categories/suggest-mappings';
import { readTextFile } from '../../../src/operations/text-files';
import { testRealCategories } from '../../support/real-products';
import { heldOutNames, heldOutTree } from './held-out-sample';
import { type ExpectedMatch, sampleNames } from './sample-names';
import { sampleTree } from './sample-tree';

/** Required hit rates: a lower one is a regression. */
const SAMPLES = [
  {
    sample: 'the sample that the synonyms were written with',
    tree: sampleTree,
    names: sampleNames,
    required: 99,
  },
  {
    sample: 'a held-out sample of other departments in three languages',
    tree: heldOutTree,
    names: heldOutNames,
    required: 92,
  },
];

/** Percentage of names with the right category among the first three suggestions. */
function hitRate(suggester: CategorySuggester, names: readonly ExpectedMatch[]): number {
  const hits = names.filter(({ name, expected }) =>
    suggester.suggest(name, 3).some(({ path }) => ` > ${path}`.endsWith(` > ${expected}`)),
  );
  return (100 * hits.length) / names.length;
}

describe('suggestions for advertiser category names (decisions X60)', () => {
  it.each(SAMPLES)(
    'include the right one among the first three for $required % of $sample',
    async ({ tree: makeTree, names: makeNames, required }) => {
      const [tree, names] = [makeTree(), makeNames()];
      const inTree = new Set(tree.flatMap((category) => Object.values(category.names)));
      expect(names.length).toBeGreaterThanOrEqual(100);
      expect(names.filter(({ expected }) => !inTree.has(expected))).toEqual([]);
      const verbatim = names.filter(({ name }) => inTree.has(name));
      expect(verbatim.length).toBeLessThan(names.length / 20);
      expect(hitRate(await CategorySuggester.of(tree), names)).toBeGreaterThanOrEqual(required);
    },
  );

  it('are tested with at least 200 names', () => {
    expect(sampleNames().length).toBeGreaterThanOrEqual(200);
  });

  testRealCategories(
    'include the right one among the first three for 95 % of the paths of a published tree, reordered and inflected',
    async (file) => {
      const { categories } = readCategories(await readTextFile(file));
      const byId = new Map(categories.map((category) => [category.id, category]));
      const pathOf = ({ parentId, name }: (typeof categories)[number]): readonly string[] => {
        const parent = parentId === null ? undefined : byId.get(parentId);
        return [...(parent === undefined ? [] : pathOf(parent)), name];
      };
      const names = categories
        .filter((_, at) => at % 20 === 0)
        .map((category) => {
          const path = pathOf(category);
          return { name: path.slice(-2).map(reworded).join(' / '), expected: path.join(' > ') };
        });
      const tree = categories.map(({ id, parentId, name }): CategoryDefinition => ({
        id,
        parentId,
        names: { en: name },
      }));
      expect(tree.length).toBeGreaterThan(4000);
      expect(hitRate(await CategorySuggester.of(tree), names)).toBeGreaterThanOrEqual(95);
    },
  );

  it('have scores from 1 (the same path) to 0, best first', async () => {
    const suggester = await CategorySuggester.of(sampleTree());
    const [same, next] = suggester.suggest('Möbel > Sofas', 2);
    expect(same).toEqual({ categoryId: expect.any(String), path: 'Furniture > Sofas', score: 1 });
    expect(next!.score).toBeLessThan(1);
    expect(suggester.suggest('qqqq', 3)).toEqual([]);
    expect(suggester.suggest(' > ', 3)).toEqual([]);
  });

  it('take seconds for a thousand names in a tree of five thousand categories', async () => {
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

/** The words in reverse order, singular and plural swapped. */
function reworded(name: string): string {
  const words = name.split(/\s+/).filter((word) => word !== '&');
  return words
    .reverse()
    .map((word) => (word.endsWith('s') ? word.slice(0, -1) : `${word}s`))
    .join(' ');
}
