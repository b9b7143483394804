import { join } from 'node:path';
import { GenerationFile } from '../../src/engines/embedded/store/generation-file';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { search } from '../../src/engines/embedded/store/search';
import { type Filter, type Order } from '../../src/kernel/query';
import { OFFERS } from '../contracts/read-store/documents';
import { live, put } from '../contracts/read-store/subject';
import { storeFolder } from '../support/store-folder';

const TOKENS = 'SCAN t VIRTUAL TABLE INDEX 0:M1><';
const ROW = 'SEARCH k USING INTEGER PRIMARY KEY (rowid=?)';

/** Ranges of an index that hold no more than is wanted. */
const NEWEST = [
  'SEARCH k USING COVERING INDEX by_modified (f_feedId=? AND f_modified>?)',
  'SEARCH k USING COVERING INDEX by_modified (f_feedId=? AND f_modified=?)',
];

let generation: GenerationFile;
let end: () => Promise<void>;

beforeAll(async () => {
  const { directory, remove } = await storeFolder();
  const store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  const { number } = await live(store, OFFERS);
  const documents = Array.from({ length: 6_000 }, (_, n) => ({
    id: `d${n}`,
    fields: {
      feedId: 1 + (n % 2),
      groupId: `g${n % 50}`,
      price: n % 500,
      modified: n,
      brand: 'everywhere',
      title: n % 100 === 0 ? ['rare'] : [],
      ...(n % 1_000 === 0 ? { stock: 5 } : {}),
    },
    body: '',
  }));
  await put(store, { collection: OFFERS.name }, documents);
  generation = new GenerationFile(join(directory, `${OFFERS.name}-g${number}.sqlite`), OFFERS);
  end = async () => {
    generation.close();
    await store.close();
    await remove();
  };
});
afterAll(() => end());
afterEach(() => jest.restoreAllMocks());

const feed: Filter = { field: 'feedId', in: [1] };
const newest: Order = { field: 'modified', descending: true };
const rare: Filter = { words: ['rare'], within: ['title', 'description'] };
const everywhere: Filter = { field: 'brand', in: ['everywhere'] };

test.each<[string, readonly Filter[], Order, readonly string[]]>([
  [
    'words: the index of tokens within the partition, and each document found once',
    [feed, rare],
    newest,
    [TOKENS, ROW],
  ],
  [
    'words and bounds: the same',
    [feed, rare, { field: 'price', min: 5, max: 400 }],
    { field: 'price' },
    [TOKENS, ROW],
  ],
  ['a partition in the order of a sort field: the first ones by its index', [feed], newest, [ROW, ...NEWEST]],
  [
    'a partition within bounds in their order: that part of the index',
    [feed, { field: 'price', min: 5, max: 400 }],
    { field: 'price' },
    [ROW, 'SEARCH k USING COVERING INDEX by_price (f_feedId=? AND f_price>? AND f_price<?)'],
  ],
  [
    'few within bounds in another order: that part of the index',
    [feed, { field: 'price', min: 5, max: 6 }],
    newest,
    ['SEARCH k USING INDEX by_price (f_feedId=? AND f_price>? AND f_price<?)'],
  ],
  [
    'a number that is not indexed, without plenty: the rows of the partition, one after the other',
    [feed, { field: 'stock', min: 1 }],
    newest,
    ['SEARCH k USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
  ],
  [
    'what nearly all documents have: the first ones by the index of the sort field, each asked of the index of tokens',
    [feed, everywhere],
    newest,
    [ROW, ...NEWEST, 'SCAN t VIRTUAL TABLE INDEX 0:=M1'],
  ],
])('%s', (_, all, order, expected) => {
  const asked = jest.spyOn(generation.file, 'all');
  search(generation, { filter: { all }, order: [order], offset: 0, size: 10 });

  // The page is found first, then its bodies are read.
  const [text, ...values] = asked.mock.calls.findLast(([sql]) => sql.includes('page AS MATERIALIZED'))!;
  const plan = generation.file.all(`EXPLAIN QUERY PLAN ${text}`, ...values).map((row) => String(row[3]));
  const steps = new Set(plan.filter((step) => /^(SCAN|SEARCH) [kt] /.test(step)));
  expect([...steps]).toEqual(expected);
});
