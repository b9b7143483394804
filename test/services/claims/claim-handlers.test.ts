import { Faults } from '../../../src/kernel/fault';
import { ClaimCommands } from '../../../src/services/claims/commands';
import { type PostedList } from '../../../src/services/claims/claims-body';
import { claimOf, claimWorld } from '../../api/claim-network';

const PUBLISHER = { organisationId: 11, kind: 'publisher' } as const;
const ADVERTISER = { organisationId: 1, kind: 'advertiser' } as const;
const world = claimWorld();
const commands = (): ClaimCommands => world.app.http.get(ClaimCommands, { strict: false });

function listOf(name: PostedList['name'], ...items: readonly object[]): PostedList {
  return { name, items, format: 'json' };
}

/** The faults of a command, as it is called without HTTP. */
async function faultsOf(command: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await command.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Faults)) throw error;
  return error.faults.map(({ code, message }) => `${code} ${message.split(/[ :]/, 1)[0]}`);
}

describe('Commands of claims get what was posted, and check it (ADR 18)', () => {
  it.each(['create', 'check'] as const)('%s: fields, access, and keys', async (does) => {
    const [taken, twice] = [claimOf(`taken-${does}`), claimOf(`twice-${does}`)];
    const { ids } = await commands().create(listOf('claims', taken), PUBLISHER);
    expect(ids).toHaveLength(1);
    const wrong = claimOf('wrong', { affiliateSiteId: 1201, orderValue: 'ten', timeStampEvent: undefined });
    expect(await faultsOf(commands()[does](listOf('claims', wrong, taken, twice, twice), PUBLISHER))).toEqual(
      [
        'UTS_240 claims[0].timeStampEvent',
        'UTS_260 claims[0].orderValue',
        'UTS_396 claims[0].affiliateSiteId',
        'UTS_397 claims[1]',
        'UTS_397 claims[3]',
      ],
    );
  });

  it('updates of publishers and of advertisers too', async () => {
    const update = { ...claimOf('none'), claimId: 1e9, versionNo: 'x' };
    expect(await faultsOf(commands().revise(listOf('claimUpdates', update), PUBLISHER))).toEqual([
      'UTS_260 claimUpdates[0].versionNo',
    ]);
    const ruling = { claimId: 1e9, versionNo: 0, statusIdClaim: 212, orderValue: 1 };
    expect(await faultsOf(commands().rule(listOf('claimUpdates', ruling), ADVERTISER))).toEqual([
      'UTS_430 claimUpdates[0].orderValue',
    ]);
    expect(await faultsOf(commands().rule(listOf('claimUpdates', ruling), ADVERTISER, true))).toEqual([
      'UTS_306 claimUpdates[0].statusIdClaim',
    ]);
  });

  it.each([
    ['create', 'claims', ADVERTISER, 'UTS_395'],
    ['revise', 'claimUpdates', { organisationId: 90, kind: 'operator' }, 'UTS_304'],
    ['rule', 'claimUpdates', PUBLISHER, 'UTS_304'],
  ] as const)('%s refuses callers of another kind first (decisions C1)', async (does, name, caller, code) => {
    const sent = commands()[does](listOf(name, {}), caller);
    await expect(sent).rejects.toMatchObject({ code });
  });
});
