import { tokenHash } from '../../src/network/organisations';
import { TokenUses } from '../../src/network/token-uses';
import { openEngines } from '../../src/engines/open';
import { TestClock } from '../support/clock';
import { smallNetwork, tokenNamed } from '../support/small-network';
import { cliFolder, run } from './run';

const { settings, fileOf, directory, dataDir } = cliFolder();
const tokens = (...args: readonly string[]) => run(['tokens', ...args], settings());
const fingerprintOf = (token: string): string => tokenHash(token).slice(0, 12);

describe('affilog tokens (decisions X94)', () => {
  beforeEach(async () => {
    await run(['network', 'import', await fileOf(smallNetwork())], settings());
  });

  it('list shows holder, fingerprint, expiry and the day of the last use, and no token', async () => {
    const engines = await openEngines({
      dataDir: dataDir(),
      eventLog: 'sqlite:',
      readStore: 'sqlite:',
      threads: false,
    });
    const uses = new TokenUses(
      new TestClock(() => new Date('2026-02-03T23:59:59Z')),
      engines.store,
      (failure) => {
        throw failure;
      },
    );
    uses.note(tokenHash(tokenNamed('spargurka')));
    await uses.close();
    await engines.close();
    await tokens('issue', '--organisation', '6', '--system', 'CLAIMS', '--expires', '2999-12-31');
    const { code, out, err } = await tokens('list', '--organisation', '6');
    expect([code, err]).toEqual([0, '']);
    const claims = (await directory()).organisations.tokenFor(6, { system: 'CLAIMS' });
    expect(out).toBe(
      `${claims?.hash.slice(0, 12)}\t6\tSpargurka\tCLAIMS\tall sites\texpires 2999-12-31T00:00:00.000Z\tnever used\n` +
        `${fingerprintOf(tokenNamed('spargurka'))}\t6\tSpargurka\tPRODUCTS\tsite 61\tdoes not expire\tused 2026-02-03\n`,
    );
    const all = (await tokens('list')).out;
    expect(all.trim().split('\n')).toHaveLength(7);
    expect(all).not.toMatch(/[0-9a-f]{13}/);
  });

  it('issue prints the token alone on standard output, once, and it is valid', async () => {
    const { code, out, err } = await tokens(
      'issue',
      '--organisation',
      '5',
      '--system',
      'VOUCHERS',
      '--site',
      '51',
    );
    expect(code).toBe(0);
    expect(out).toMatch(/^[0-9a-f]{40}\n$/);
    expect(err).toBe(
      'created: 1 token\n  token organisation 5, VOUCHERS, site 51\nThis token is not shown again.\n',
    );
    expect((await directory()).organisations.callerOf(tokenHash(out.trim()))).toMatchObject({
      organisationId: 5,
      system: 'VOUCHERS',
      siteId: 51,
    });
  });

  it('issue replaces a present token only with --yes or when asked', async () => {
    const issue = ['issue', '--organisation', '3', '--system', 'PRODUCTS'];
    const replaced = `changed: 1 token\n  token organisation 3, PRODUCTS replaces ${fingerprintOf(tokenNamed('fjord'))}\n`;
    const isValid = async (token: string): Promise<boolean> =>
      (await directory()).organisations.callerOf(tokenHash(token)) !== undefined;
    expect(await tokens(...issue)).toMatchObject({ code: 2, out: '' });
    expect(await tokens(...issue, '--dry-run')).toEqual({
      code: 0,
      out: '',
      err: `${replaced}dry run: nothing has been changed\n`,
    });
    expect(await isValid(tokenNamed('fjord'))).toBe(true);
    const { out } = await tokens(...issue, '--yes');
    expect(await isValid(out.trim())).toBe(true);
    expect(await isValid(tokenNamed('fjord'))).toBe(false);
  });

  it.each([
    [
      ['--organisation', '77', '--system', 'PRODUCTS'],
      '--organisation: 77 is not the id of an entry in organisations',
    ],
    [['--organisation', '3', '--system', 'OPS'], '--system: OPS is not available to an advertiser'],
    [
      ['--organisation', '6', '--system', 'PRODUCTS', '--site', '51'],
      '--site: site 51 belongs to organisation 5',
    ],
    [
      ['--organisation', '3', '--system', 'PRODUCTS', '--expires', '2020-01-01'],
      '--expires 2020-01-01: expected a time in the future such as 2030-01-31, 2030-01-31T12:00:00Z or 90d',
    ],
    [
      ['--organisation', '3', '--system', 'PRODUCTS', '--expires', 'soon'],
      '--expires soon: expected a time in the future such as 2030-01-31, 2030-01-31T12:00:00Z or 90d',
    ],
  ])('issue %j is refused with one line, exit code 2', async (args, message) => {
    expect(await tokens('issue', ...args)).toEqual({ code: 2, out: '', err: `affilog: ${message}\n` });
  });

  it('revoke removes the token with a fingerprint, with --yes or when asked', async () => {
    const fingerprint = fingerprintOf(tokenNamed('tarifkompass app'));
    expect(await tokens('revoke', fingerprint)).toMatchObject({ code: 2 });
    expect(await tokens('revoke', fingerprint.slice(0, 8), '--yes')).toEqual({
      code: 0,
      out: `removed: 1 token\n  token organisation 5, PRODUCTS, site 52 ${fingerprint}\nrevoked\n`,
      err: '',
    });
    expect((await tokens('list')).out).not.toContain(fingerprint);
    expect(await tokens('revoke', fingerprint, '--yes')).toEqual({
      code: 2,
      out: '',
      err: `affilog: ${fingerprint}: expected a fingerprint that "affilog tokens list" shows\n`,
    });
  });
});
