import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { smallNetwork } from '../support/small-network';
import { cliFolder, run } from './run';

const { settings, fileOf, directory } = cliFolder();

describe('affilog mappings (decisions X60)', () => {
  const mappings = (...args: readonly string[]) => run(['mappings', ...args], settings());
  beforeEach(async () => {
    await run(['network', 'import', await fileOf(smallNetwork())], settings());
    // Counts need a read model.
    await run(['rebuild', 'all'], settings());
  });

  it('lists, maps and unmaps', async () => {
    expect((await mappings('map', '--feed', '302', '--name', 'Lys', '--category', '42')).out).toBe(
      'line 1\tmapped\tno product of feed 302 has this name\n',
    );
    expect((await mappings('list', '--feed', '302')).out).toBe('mapped\t0\tLys\t42\tLights\n');
    expect((await mappings('unmap', '--feed', '302', '--name', 'Lys')).out).toBe('line 1\tunmapped\t\n');
    expect((await mappings('list', '--feed', '302')).out).toBe('');
  });

  it('imports CSV: reports each line, applies the valid ones, exits with 1 if any was refused', async () => {
    const file = await fileOf('feedId,name,categoryId\n302,Lys,42\n302,Sykler,77\n');
    expect(await mappings('import', file)).toEqual({
      code: 1,
      out:
        'line 2\tmapped\tno product of feed 302 has this name\nline 3\trefused\tcategoryId=77: expected the id of a platform category\n' +
        'created: 1 mapping\n  mapping feed 302, "Lys" 42\n',
      err: 'affilog: 1 of 2 lines were refused\n',
    });
    expect((await directory()).mappingOf(302, 'Lys')).toBe('42');
  });

  it('unmaps names of a file only with --yes or when asked, and nothing in a dry run (decisions X93)', async () => {
    const file = await fileOf('feedId,name,categoryId\n301,Lys & reflekser,\n302,Lys,42\n');
    const report = 'line 2\tunmapped\t\nline 3\tmapped\tno product of feed 302 has this name\n';
    const changes =
      'created: 1 mapping\n  mapping feed 302, "Lys" 42\nremoved: 1 mapping\n  mapping feed 301, "Lys & reflekser" 42\n';
    expect(await mappings('import', file)).toEqual({
      code: 2,
      out: report + changes,
      err: expect.stringMatching(/^affilog: 1 to be removed or replaced.*--yes.*--dry-run.*\n$/),
    });
    expect(await mappings('import', file, '--dry-run')).toEqual({
      code: 0,
      out: `${report}${changes}dry run: nothing has been changed\n`,
      err: '',
    });
    expect((await directory()).mappingOf(302, 'Lys')).toBeUndefined();
    expect(await mappings('import', file, '--yes')).toMatchObject({ code: 0, out: report + changes });
    expect((await directory()).mappingOf(302, 'Lys')).toBe('42');
    expect((await directory()).mappingOf(301, 'Lys & reflekser')).toBeUndefined();
  });

  it('suggests categories for a name, with scores', async () => {
    const { out } = await mappings('suggest', '--name', 'Biciclette', '--most', '1');
    expect(out).toBe('Biciclette\t1.000\t4\tBicycles\n');
  });

  it('refuses an unknown feed', async () => {
    expect(await mappings('list', '--feed', '7')).toMatchObject({ code: 2 });
  });
});

describe('affilog rebuild', () => {
  const projections = [...PROJECTIONS, ...DELIVERY_PROJECTIONS].map(({ collection }) => collection.name);

  it('rebuilds all read models, shows progress, and prints the live generations', async () => {
    const { code, out, err } = await run(['rebuild', 'all'], settings());
    expect(err).toMatch(/^part 1 of 2, the event log: (projecting the log|building indexes)/m);
    expect(out.replaceAll(/generation \d+/g, 'generation n').split('\n')).toEqual([
      ...projections.map((name) => `${name}: generation n, 0 documents, nothing to compare with`),
      '',
    ]);
    expect(code).toBe(0);
  });

  it('stops at a stop signal', async () => {
    const stopping = new AbortController();
    stopping.abort();
    await run(['network', 'import', await fileOf(smallNetwork())], settings());
    expect(await run(['rebuild', 'products'], settings(), { stopping })).toMatchObject({
      code: 1,
      out: '',
      err: 'affilog: interrupted: run the command again to continue\n',
    });
  });

  it('names the projections when given an unknown one', async () => {
    expect(await run(['rebuild', 'orders'], settings())).toEqual({
      code: 2,
      out: '',
      err: `affilog: orders: expected the name of a projection: ${projections.join(', ')} or all\n`,
    });
  });
});
