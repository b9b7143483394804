import { existsSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { type NetworkFile } from '../../src/network/network-file';
import { tokenHash } from '../../src/network/organisations';
import { testRealCategories } from '../support/real-products';
import { testNetworkExample } from '../support/real-products';
import { smallNetwork } from '../support/small-network';
import { cliFolder, run } from './run';

const { dataDir, settings, pathOf, fileOf, directory } = cliFolder();

describe('affilog network import', () => {
  it('imports a file once and reports what has changed', async () => {
    const file = await fileOf(smallNetwork());
    const { code, out, err } = await run(['network', 'import', file], settings());
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      /^created: 5 organisations, 6 tokens, 3 programs, .*\n {2}organisation 3 "Fjord Cycles"\n/,
    );
    expect(out).toMatch(/^ {2}and 13 more\nimported: 34 events\n$/m);
    expect(await run(['network', 'import', file, '--data-dir', dataDir()])).toEqual({
      code: 0,
      out: 'nothing has changed\n',
      err: '',
    });
    expect((await directory()).feed(301)).toMatchObject({ name: 'Fjord all' });
  });

  testNetworkExample('imports the example unchanged, and only once', async (file) => {
    const { feeds } = JSON.parse(readFileSync(file, 'utf8')) as NetworkFile;
    expect(await run(['network', 'import', file], settings())).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^imported: \d+ events\n/m),
      err: '',
    });
    const imported = await directory();
    expect(feeds?.length).toBeGreaterThan(0);
    for (const { id, name } of feeds ?? []) expect(imported.feed(id)).toMatchObject({ name });
    expect(await run(['network', 'import', file], settings())).toMatchObject({
      out: 'nothing has changed\n',
    });
  });

  it('prints a generated token once, and it is valid', async () => {
    const { tokens, ...others } = smallNetwork();
    const file = await fileOf({ ...others, tokens: [...tokens, { organisationId: 6, system: 'CLAIMS' }] });
    const { out } = await run(['network', 'import', file], settings());
    const token = /"token":"([0-9a-f]{40})"/.exec(out)?.[1];
    expect((await directory()).organisations.callerOf(tokenHash(token ?? ''))).toMatchObject({
      system: 'CLAIMS',
    });
    expect(await run(['network', 'import', file], settings())).toMatchObject({
      out: 'nothing has changed\n',
    });
  });

  it('removes what the file does not contain only with --prune', async () => {
    const environment = settings();
    await run(['network', 'import', await fileOf(smallNetwork())], environment);
    const file = await fileOf({ ...smallNetwork(), mappings: [] });
    expect(await run(['network', 'import', file], environment)).toMatchObject({
      out: 'nothing has changed\n',
    });
    expect(await run(['network', 'import', '--prune', '--yes', file], environment)).toEqual({
      code: 0,
      out:
        'removed: 2 mappings\n  mapping feed 301, "Lys & reflekser" 42\n' +
        '  mapping feed 401, "Luci  posteriori" 421\nimported: 2 events\n',
      err: '',
    });
  });

  it('lists all faults of a file with their paths, changes nothing, exits with 1', async () => {
    const network = smallNetwork();
    network.feeds[0]!.language = 'xx';
    network.mappings[0]!.categoryId = '77';
    expect(await run(['network', 'import', await fileOf(network)], settings())).toEqual({
      code: 1,
      out: '',
      err:
        'affilog: $.feeds[0].language: expected a language code of ISO 639-1 such as de, got "xx"\n' +
        'affilog: $.mappings[0].categoryId: 77 is not the id of an entry in categories\n',
    });
    expect((await directory()).organisations.get(3)).toBeUndefined();
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    ['does not exist', async () => pathOf('none.json'), /^affilog: ENOENT: no such file .*none\.json'\n$/],
    ['is not JSON', () => fileOf('{"feeds": [,]}'), /^affilog: .*network\.json: expected JSON: .*\n$/],
  ])('exits with 1 and a one-line message when the file %s', async (_, file, expected) => {
    expect(await run(['network', 'import', await file()], settings())).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(expected),
    });
  });

  it('exits with 1 and a one-line message when the data folder is a file', async () => {
    const environment = { DATA_DIR: await fileOf(smallNetwork()) };
    const { code, err } = await run(['network', 'import', await fileOf(smallNetwork())], environment);
    expect(code).toBe(1);
    expect(err).toMatch(/^affilog: .*\n$/);
  });
});

describe('affilog categories import (decisions P29)', () => {
  it('imports a gzip file once and reports what it skipped', async () => {
    const tree = '[{"id":"a001","name":"Boats","children":[{"id":"a002","name":null}]}]';
    const file = await fileOf(gzipSync(tree), 'tree.json.gz');
    const environment = settings();
    const skipped = 'skipped: $[0].children[0] (a002): it has no name\n';
    expect(await run(['categories', 'import', file], environment)).toEqual({
      code: 0,
      out:
        `${skipped}created: 1 category\n  category 937023454035328 "Boats"\n` +
        'imported: 1 events; 1 categories in the file\n',
      err: '',
    });
    expect(await run(['categories', 'import', file, '--language', 'en'], environment)).toMatchObject({
      out: `${skipped}nothing has changed; 1 categories in the file\n`,
    });
  });

  testRealCategories('imports a real gzip-compressed tree as published', async (file) => {
    const environment = settings();
    const { code, out, err } = await run(['categories', 'import', file], environment);
    expect([code, err]).toEqual([0, '']);
    const [, skipped, events, categories] =
      /^skipped: (.*): it has no name\n[^]*\nimported: (\d+) events; (\d+) categories in the file\n$/.exec(
        out,
      ) ?? [];
    expect([skipped, events]).toEqual([expect.any(String), categories]);
    expect(Number(categories)).toBeGreaterThanOrEqual(4583);
    expect([...(await directory()).categories.all()]).toHaveLength(Number(categories));
    const again = await run(['categories', 'import', file], environment);
    expect(again.out).toContain(`nothing has changed; ${categories} categories in the file`);
  });

  it('exits with 1 if nothing in the file can be imported', async () => {
    const file = await fileOf('[{"id":1,"title":"A"},{"id":2,"title":"B"}]');
    expect(await run(['categories', 'import', file], settings())).toEqual({
      code: 1,
      out: '',
      err: 'affilog: none of the 2 categories in the file can be imported; the first one is $[0] (1): it has no name\n',
    });
  });

  it('lists all faults of an invalid file, changes nothing, exits with 1', async () => {
    const file = await fileOf('[{"id":1,"name":"A"},{"id":2,"name":2},7]');
    expect(await run(['categories', 'import', file], settings())).toEqual({
      code: 1,
      out: '',
      err: 'affilog: $[1].name: expected a string, got 2\naffilog: $[2]: expected a category, got 7\n',
    });
    expect(existsSync(dataDir())).toBe(false);
  });

  it('refuses files above 64 MiB, compressed or not, and files that are not UTF-8', async () => {
    const file = await fileOf(gzipSync(Buffer.alloc(64 * 1024 * 1024 + 1, 'A')), 'tree.txt');
    const { code, err } = await run(['categories', 'import', file], settings());
    expect([code, err]).toEqual([1, `affilog: ${file}: expected at most 67108864 bytes\n`]);
    await fileOf(Buffer.from([0x41, 0xff]), 'tree.txt');
    expect(await run(['categories', 'import', file], settings())).toMatchObject({
      code: 1,
      err: `affilog: ${file}: expected text in UTF-8\n`,
    });
  });

  it('refuses a language that is not in ISO 639-1', async () => {
    const { code } = await run(['categories', 'import', 'x', '--language', 'xx'], settings());
    expect(code).toBe(2);
  });
});
