import { automatedClaims } from '../api/automated-claims';
import { claimWorld } from '../api/claim-network';
import { run } from './run';

const world = claimWorld();
const { stateOf } = automatedClaims(world);

async function mismatched(orderNumber: string): Promise<number> {
  return (await world.create(orderNumber, { expectedCommission: 100 })).claimId;
}

describe('affilog claims (decisions C14)', () => {
  const claims = (...args: readonly string[]) => run(['claims', ...args], { DATA_DIR: world.app.folder });

  it('lists, releases and rejects', async () => {
    const [one, two] = [await mismatched('cli 1'), await mismatched('cli 2')];
    expect((await claims('list')).out).toBe(
      [one, two]
        .map(
          (id, at) =>
            `${id}\t105 Commission mismatch\tsince 2026-03-01\tprogram 101\tsite 1101\tevent 17\torder "cli ${at + 1}" of 2026-02-20\torder value 100 EUR\texpected commission 100.00\n`,
        )
        .join(''),
    );
    expect(await claims('list', '--most', '1', '--program', '101', '--status', '105')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+\t105 .*\n$/),
      err: 'affilog: 1 of 2 claims; --most lists more\n',
    });
    expect(await claims('release', String(one))).toMatchObject({
      code: 0,
      out: `claim ${one}: 2 Awaiting approval\n`,
    });
    expect(await claims('reject', String(two), '--status', '201', '--message', 'Search')).toMatchObject({
      code: 0,
      out: `claim ${two}: 201 Attributed to another marketing channel\n`,
    });
    expect(await stateOf(one)).toMatchObject({ statusId: 2 });
    expect(await stateOf(two)).toMatchObject({ statusId: 201 });
  });

  it('names what is wrong, and exits with 1', async () => {
    const id = await mismatched('cli 3');
    const status = await claims('reject', String(id), '--status', '3');
    expect([status.code, status.err]).toEqual([
      1,
      expect.stringContaining('statusId=3: expected one that rejects'),
    ]);
    const unknown = await claims('release', '999999');
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('claimId is 999999')]);
    expect((await claims('release', 'x')).code).toBe(2);
    expect((await claims('reject', String(id))).code).toBe(2);
  });
});
