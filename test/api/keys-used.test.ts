import { readdirSync, readFileSync } from 'node:fs';
import { type KeyTable } from '../../src/wire/keys';
import { downloadKeys, lastUpdatedKeys } from '../../src/products/download-keys';
import { categoryKeys, feedKeys, importKeys, mappingKeys } from '../../src/products/feed-keys';
import { deleteKeys, postKeys, searchKeys } from '../../src/products/search-keys';

/** The tables of keys; in the files of their tests stands the target, or the client that asks for it. */
const TABLES: readonly (readonly [target: string, table: KeyTable, marker: string])[] = [
  ['/1.0/products', { ...searchKeys, ...postKeys, ...deleteKeys }, "from './posted'"],
  ['/1.0/productsUnlimited', downloadKeys, '/1.0/productsUnlimited'],
  ['/1.0/productsUnlimited/lastUpdated', lastUpdatedKeys, '/1.0/productsUnlimited/lastUpdated'],
  ['/1.0/productCategories', categoryKeys, '/1.0/productCategories'],
  ['/1.0/categoryMappings', mappingKeys, '/1.0/categoryMappings'],
  ['/1.0/productFeeds', feedKeys, '/1.0/productFeeds'],
  ['/1.0/products/imports', importKeys, '/1.0/products/imports'],
];

const texts = readdirSync(__dirname)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(`${__dirname}/${name}`, 'utf8'));

it.each(TABLES)('every key of %s is used by a test of it (Document 1, Endpoints)', (_, table, marker) => {
  const about = texts.filter((text) => text.includes(marker));
  const isUsed = (key: string) => about.some((text) => new RegExp(`\\b${key}=`, 'i').test(text));
  expect(Object.keys(table).filter((key) => !isUsed(key))).toEqual([]);
});
