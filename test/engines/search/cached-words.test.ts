import { SearchIndex } from '../../../src/engines/embedded/search/search-index';
import { BlobCache } from '../../../src/engines/embedded/search/storage';
import { MemoryBlobs } from './naive';
import { append, idOf, NEWEST, SCHEMA } from './some-index';

/** Counts reads of blocks of a dictionary of tokens. */
class CountingBlobs extends MemoryBlobs {
  blocks = 0;

  override get(name: string): Uint8Array | undefined {
    if (/\/terms\/\d+$/.test(name)) this.blocks += 1;
    return super.get(name);
  }
}

/** Documents of which each has some of many words, which have so many ordinals that these are most of a block. */
function wordy(words: number): { readonly blobs: CountingBlobs; readonly index: SearchIndex } {
  const blobs = new CountingBlobs();
  const index = new SearchIndex(blobs, SCHEMA, new BlobCache(400_000));
  const documents = Array.from({ length: 4_000 }, (_, row) => ({
    id: idOf(row),
    row,
    tokens: Array.from({ length: 60 }, (__, at) => wordOf((row * 60 + at * 41) % words)).join('\n'),
    numbers: { modified: row },
  }));
  append(index, 0, documents);
  blobs.blocks = 0;
  return { blobs, index };
}

function wordOf(number: number): string {
  return `word${String.fromCharCode(97 + (number % 26))}${number}`;
}

test('of a word that is searched, its documents are cached, without those of the words beside it', () => {
  const words = 2_000;
  const { blobs, index } = wordy(words);
  const search = (): number => {
    let found = 0;
    for (let word = 0; word < words; word += 10)
      found += index.query({
        filter: { token: wordOf(word) },
        order: [NEWEST],
        offset: 0,
        size: 1,
      }).total;
    return found;
  };
  const found = search();
  expect(found).toBeGreaterThan(10_000);
  expect(blobs.blocks).toBe(words / 10);
  expect(search()).toBe(found);
  expect(blobs.blocks).toBe(words / 10);
});

test('looking for words near one caches the words alone', () => {
  const { blobs, index } = wordy(2_000);
  const near = (word: string): unknown =>
    index.countFacets({ all: [] }, [{ near: word, after: [''], size: 10 }])[0];
  const counts = near('wordk1x0');
  expect(counts).toEqual([
    { value: 'wordk10', count: 120 },
    { value: 'wordk140', count: 120 },
  ]);
  const { blocks } = blobs;
  expect(near('wordk1x0')).toEqual(counts);
  expect(blobs.blocks).toBe(blocks);
});

test.each([
  ['another letter', '\u{1f600}\u{1f601}b'],
  ['one too many', '\u{1f600}\u{1f601}a\u{1f602}'],
  ['one missing', '\u{1f600}a'],
  ['two that have changed places', '\u{1f601}\u{1f600}a'],
])('a word is near one with %s, however many bytes letters take', (_, word) => {
  const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(100_000));
  const others = ['\u{1f601}\u{1f600}b', '\u{1f602}\u{1f600}\u{1f601}aa', 'a'];
  append(index, 0, [{ id: 'a', row: 0, tokens: [word, ...others].join('\n'), numbers: {} }]);
  const near = { near: '\u{1f600}\u{1f601}a', after: [''], size: 10 };
  expect(index.countFacets({ all: [] }, [near])).toEqual([[{ value: word, count: 1 }]]);
});
