import { PROJECTIONS } from '../../projections';
import { smallNetwork } from '../support/small-network';
import { cliFolder, run } from './cli-run';

const { settings, fileOf, directory } = cliFolder();

describe('affilog mappings (decisions X60)', () => {
  const desk = (...args: readonly string[]) => run(['mappings', ...args], settings());
  beforeEach(async () => {
    await run(['network', 'import', await fileOf(smallNetwork())], settings());
    // Nothing is counted before there is a read model.
    await run(['rebuild', 'all'], settings());
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
    expect((await directory()).mappingOf(302, 'Lys')).toBe('42');
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
    const { code, out, err } = await run(['rebuild', 'all'], settings());
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
    await run(['network', 'import', await fileOf(smallNetwork())], settings());
    expect(await run(['rebuild', 'products'], settings(), { stopping })).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/affilog: (AbortError: )?This operation was aborted\n$/),
    });
  });

  it('knows what there is', async () => {
    expect(await run(['rebuild', 'orders'], settings())).toEqual({
      code: 2,
      out: '',
      err: `affilog: orders is no projection; there are: ${[...projections, 'all'].join(', ')}\n`,
    });
  });
});
