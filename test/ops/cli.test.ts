import { existsSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { PROJECTIONS } from '../../projections';
import { Directory } from '../../src/directory/directory';
import { networkSchema } from '../../src/directory/network-file';
import { tokenHash } from '../../src/directory/token';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { runCli } from '../../src/ops/cli/run-cli';
import { type Start } from '../../src/ops/serve';
import { settingsTable } from '../../src/settings';
import { smallNetwork } from '../support/small-network';
import { eventsOf } from '../support/temporary-log';

/** What a run of the program said, and how it ended. */
interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  { start = unwanted, stopping = new AbortController() }: { start?: Start; stopping?: AbortController } = {},
): Promise<Run> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const stopSignal = (): AbortSignal => stopping.signal;
  const code = await runCli(args, { environment, stdout, stderr, stopSignal, start, threads: false });
  return { code, out: textOf(stdout), err: textOf(stderr) };
}

function textOf(stream: PassThrough): string {
  return (stream.read() as Buffer | null)?.toString() ?? '';
}

const unwanted: Start = () => Promise.reject(new Error('nothing was to be started'));

let folder: string;
let dataDir: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-cli-'));
  dataDir = join(folder, 'data');
});
afterEach(() => rm(folder, { recursive: true }));

async function fileOf(content: unknown): Promise<string> {
  const file = join(folder, 'network.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

async function directoryOf(): Promise<Directory> {
  const { log } = await openLog(join(dataDir, 'log.sqlite'), false);
  const directory = new Directory();
  for (const event of await eventsOf(log)) directory.apply(event);
  await log.close();
  return directory;
}

describe('affilog', () => {
  it.each([
    [['--help'], /serve .*network .*rebuild .*settings /s],
    [['serve', '--help'], /--demo .*--roles .*--port <value> .*--max-body /s],
    [['network', 'import', '--help'], /<file>.*--prune .*--data-dir /s],
    [['rebuild', '--help'], /<projection>/],
    [['parked', '--help'], /list .*show .*retry .*skip /s],
  ])('%j explains itself and ends with 0', async (args, expected) => {
    expect(await run(args)).toMatchObject({ code: 0, out: expect.stringMatching(expected), err: '' });
  });

  it.each([
    [[], /Usage: affilog/],
    [['serv'], /unknown command 'serv'/],
    [['serve', '--prt', '1'], /unknown option '--prt'/],
    [['serve', '--roles', 'api,cook'], /Roles are: api, projector, notifier/],
    [['network', 'import'], /missing required argument 'file'/],
    [['rebuild'], /missing required argument 'projection'/],
    [['serve', '--port', 'x'], /^affilog: --port: x is not a whole number from 0 to 65535\n$/],
  ])('%j is wrong usage: told on stderr, 2', async (args, expected) => {
    expect(await run(args)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(expected) });
  });

  it('does not start with an invalid value in the environment: one line that names it, 2', async () => {
    expect(await run(['serve'], { MAX_BODY: 'much' })).toEqual({
      code: 2,
      out: '',
      err: 'affilog: MAX_BODY: much is not a size such as 1048576, 500MB or 1GB\n',
    });
  });

  it('settings and network schema print what is published', async () => {
    expect(await run(['settings'])).toEqual({ code: 0, out: settingsTable(), err: '' });
    expect(await run(['network', 'schema'])).toEqual({ code: 0, out: networkSchema(), err: '' });
  });
});

describe('affilog network import', () => {
  it('imports once, and says so', async () => {
    const file = await fileOf(smallNetwork());
    expect(await run(['network', 'import', file], { DATA_DIR: dataDir })).toEqual({
      code: 0,
      out: 'imported: 34 events\n',
      err: '',
    });
    expect(await run(['network', 'import', file, '--data-dir', dataDir])).toEqual({
      code: 0,
      out: 'nothing has changed\n',
      err: '',
    });
    expect((await directoryOf()).feed(301)).toMatchObject({ name: 'Fjord all' });
  });

  it('prints a token made up once, and it is valid', async () => {
    const { tokens, ...others } = smallNetwork();
    const file = await fileOf({ ...others, tokens: [...tokens, { organisationId: 6, system: 'CLAIMS' }] });
    const { out } = await run(['network', 'import', file], { DATA_DIR: dataDir });
    const token = /"token":"([0-9a-f]{40})"/.exec(out)?.[1];
    expect((await directoryOf()).callerOf(tokenHash(token ?? ''))).toMatchObject({ system: 'CLAIMS' });
    expect(await run(['network', 'import', file], { DATA_DIR: dataDir })).toMatchObject({
      out: 'nothing has changed\n',
    });
  });

  it('removes what is left out only with --prune', async () => {
    const environment = { DATA_DIR: dataDir };
    await run(['network', 'import', await fileOf(smallNetwork())], environment);
    const file = await fileOf({ ...smallNetwork(), mappings: [] });
    expect(await run(['network', 'import', file], environment)).toMatchObject({
      out: 'nothing has changed\n',
    });
    expect(await run(['network', 'import', '--prune', file], environment)).toMatchObject({
      out: 'imported: 2 events\n',
    });
  });

  it('lists every fault of a file with its path, a line each, changes nothing, ends with 1', async () => {
    const network = smallNetwork();
    network.feeds[0]!.language = 'xx';
    network.mappings[0]!.categoryId = '77';
    expect(await run(['network', 'import', await fileOf(network)], { DATA_DIR: dataDir })).toEqual({
      code: 1,
      out: '',
      err:
        'affilog: $.feeds[0].language: "xx" is not a language code of ISO 639-1 such as de\n' +
        'affilog: $.mappings[0].categoryId: 77 is not among the categories\n',
    });
    expect((await directoryOf()).organisation(3)).toBeUndefined();
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    [
      'is not there',
      async () => join(folder, 'none.json'),
      /^affilog: ENOENT: no such file .*none\.json'\n$/,
    ],
    ['is no JSON', () => fileOf('{"feeds": [,]}'), /^affilog: .*network\.json is not JSON: .*\n$/],
  ])('ends with 1 and a line when the file %s', async (_, file, expected) => {
    expect(await run(['network', 'import', await file()], { DATA_DIR: dataDir })).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(expected),
    });
  });

  it('ends with 1 and a line when the data folder is no folder', async () => {
    const environment = { DATA_DIR: await fileOf(smallNetwork()) };
    const { code, err } = await run(['network', 'import', await fileOf(smallNetwork())], environment);
    expect(code).toBe(1);
    expect(err).toMatch(/^affilog: .*\n$/);
  });
});

describe('affilog categories import (decisions P29)', () => {
  it('imports once, also a packed file, and tells what it left out', async () => {
    const file = join(folder, 'tree.json.gz');
    await writeFile(file, gzipSync('[{"id":"a001","name":"Boats","children":[{"id":"a002","name":null}]}]'));
    const environment = { DATA_DIR: dataDir };
    const leftOut = 'left out: $[0].children[0] (a002): it has no name\n';
    expect(await run(['categories', 'import', file], environment)).toEqual({
      code: 0,
      out: `${leftOut}imported: 1 events; 1 categories in the file\n`,
      err: '',
    });
    expect(await run(['categories', 'import', file, '--language', 'en'], environment)).toMatchObject({
      out: `${leftOut}nothing has changed; 1 categories in the file\n`,
    });
  });

  it('lists every fault of a bad file, changes nothing, ends with 1', async () => {
    const file = await fileOf('[{"id":1,"name":"A"},{"id":2,"name":2},7]');
    expect(await run(['categories', 'import', file], { DATA_DIR: dataDir })).toEqual({
      code: 1,
      out: '',
      err: 'affilog: $[1].name: 2 is not a text\naffilog: $[2]: 7 is not a category\n',
    });
    expect(existsSync(dataDir)).toBe(false);
  });

  it('takes no more than 64 MiB, packed or not, and no other text than UTF-8', async () => {
    const file = join(folder, 'tree.txt');
    await writeFile(file, gzipSync(Buffer.alloc(64 * 1024 * 1024 + 1, 'A')));
    const { code, err } = await run(['categories', 'import', file], { DATA_DIR: dataDir });
    expect([code, err]).toEqual([1, `affilog: ${file} is larger than 67108864 bytes\n`]);
    await writeFile(file, Buffer.from([0x41, 0xff]));
    expect(await run(['categories', 'import', file], { DATA_DIR: dataDir })).toMatchObject({
      code: 1,
      err: `affilog: ${file} is not text in UTF-8\n`,
    });
  });

  it('takes a language of ISO 639-1', async () => {
    const { code } = await run(['categories', 'import', 'x', '--language', 'xx'], { DATA_DIR: dataDir });
    expect(code).toBe(2);
  });
});

describe('affilog mappings (decisions X60)', () => {
  const desk = (...args: readonly string[]) => run(['mappings', ...args], { DATA_DIR: dataDir });
  beforeEach(async () => {
    await run(['network', 'import', await fileOf(smallNetwork())], { DATA_DIR: dataDir });
    // Nothing is counted before there is a read model.
    await run(['rebuild', 'all'], { DATA_DIR: dataDir });
  });

  it('lists, maps and unmaps', async () => {
    expect((await desk('map', '--feed', '302', '--name', 'Lys', '--category', '42')).out).toBe(
      'line 1\tmapped\t\n',
    );
    expect((await desk('list', '--feed', '302')).out).toBe('mapped\t0\tLys\t42\tLights\n');
    expect((await desk('unmap', '--feed', '302', '--name', 'Lys')).out).toBe('line 1\tunmapped\t\n');
    expect((await desk('list', '--feed', '302')).out).toBe('');
  });

  it('imports CSV: reports each line, does the good ones, ends with 1 if one was refused', async () => {
    const file = await fileOf('feedId,name,categoryId\n302,Lys,42\n302,Sykler,77\n');
    expect(await desk('import', file)).toEqual({
      code: 1,
      out: 'line 2\tmapped\t\nline 3\trefused\tcategoryId=77: there is no such platform category\n',
      err: 'affilog: 1 of 2 lines were refused\n',
    });
    expect((await directoryOf()).mappingOf(302, 'Lys')).toBe('42');
  });

  it('suggests for a name, with scores', async () => {
    const { out } = await desk('suggest', '--name', 'Biciclette', '--most', '1');
    expect(out).toBe('Biciclette\t1.000\t4\tBicycles\n');
  });

  it('knows the feeds there are', async () => {
    expect(await desk('list', '--feed', '7')).toMatchObject({ code: 2 });
  });
});

describe('affilog rebuild', () => {
  const projections = PROJECTIONS.map(({ collection }) => collection.name);

  it('builds a read model, or all of them, says how far it is, and what is live', async () => {
    const { code, out, err } = await run(['rebuild', 'all'], { DATA_DIR: dataDir });
    expect(err).toMatch(/^folding the log|^building indexes/m);
    expect(out.replace(/\d+(?=,)/g, 'n').split('\n')).toEqual([
      ...projections.map((name) => `${name}: generation n, 0 documents`),
      '',
    ]);
    expect(code).toBe(0);
  });

  it('gives up when it is told to stop', async () => {
    const stopping = new AbortController();
    stopping.abort();
    await run(['network', 'import', await fileOf(smallNetwork())], { DATA_DIR: dataDir });
    expect(await run(['rebuild', 'products'], { DATA_DIR: dataDir }, { stopping })).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/affilog: (AbortError: )?This operation was aborted\n$/),
    });
  });

  it('knows what there is', async () => {
    expect(await run(['rebuild', 'orders'], { DATA_DIR: dataDir })).toEqual({
      code: 2,
      out: '',
      err: `affilog: orders is no projection; there are: ${[...projections, 'all'].join(', ')}\n`,
    });
  });
});

describe('affilog serve', () => {
  it('says where it listens, stops when it is told to, and ends with 0', async () => {
    const stopping = new AbortController();
    let stopped = false;
    const start: Start = async (config, options) => {
      expect(config).toMatchObject({ port: 0, dataDir });
      expect(options).toMatchObject({ demo: true, roles: ['api', 'projector', 'notifier'] });
      setImmediate(() => stopping.abort());
      return {
        url: 'http://127.0.0.1:4711',
        stop: async () => {
          stopped = true;
        },
      };
    };
    const args = ['serve', '--demo', '--port', '0', '--data-dir', dataDir];
    expect(await run(args, { PORT: '5' }, { start, stopping })).toEqual({
      code: 0,
      out: 'listening on http://127.0.0.1:4711\n',
      err: '',
    });
    expect(stopped).toBe(true);
  });

  it('runs the roles it is given', async () => {
    const stopping = new AbortController();
    const start: Start = async (_, { roles }) => {
      expect(roles).toEqual(['projector']);
      setImmediate(() => stopping.abort());
      return { stop: async () => undefined };
    };
    expect(await run(['serve', '--roles', 'projector'], {}, { start, stopping })).toMatchObject({
      code: 0,
      out: 'running projector\n',
    });
  });

  it('ends at once when it is told to stop while it starts', async () => {
    const stopping = new AbortController();
    const start: Start = () => {
      stopping.abort();
      return new Promise(() => undefined);
    };
    expect(await run(['serve'], {}, { start, stopping })).toEqual({ code: 0, out: '', err: '' });
  });

  it('tells in a line why it cannot start', async () => {
    const busy = Object.assign(new Error('listen EADDRINUSE: address already in use 127.0.0.1:3000'), {
      syscall: 'listen',
    });
    expect(await run(['serve'], {}, { start: () => Promise.reject(busy) })).toEqual({
      code: 1,
      out: '',
      err: 'affilog: listen EADDRINUSE: address already in use 127.0.0.1:3000\n',
    });
  });

  it('shows where a bug of ours is', async () => {
    const start: Start = () => Promise.reject(new TypeError('x is undefined'));
    const { code, err } = await run(['serve'], {}, { start });
    expect(code).toBe(1);
    expect(err).toMatch(/^affilog: TypeError: x is undefined\naffilog: {5}at /);
  });

  it('fails when what it has started cannot be stopped', async () => {
    const stopping = new AbortController();
    const start: Start = async () => {
      setImmediate(() => stopping.abort());
      return { stop: () => Promise.reject(new Error('stuck')) };
    };
    expect(await run(['serve'], {}, { start, stopping })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^affilog: Error: stuck\n/),
    });
  });
});
