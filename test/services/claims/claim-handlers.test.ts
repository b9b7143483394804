import { type Command, CommandBus } from '@nestjs/cqrs';
import { Faults } from '../../../src/kernel/fault';
import { CheckClaims, CreateClaims, ReviseClaims, RuleOnClaims } from '../../../src/services/claims/commands';
import { type PostedList } from '../../../src/services/claims/claims-body';
import { claimOf, claimWorld } from '../../api/claim-network';

const PUBLISHER = { organisationId: 11, kind: 'publisher' } as const;
const ADVERTISER = { organisationId: 1, kind: 'advertiser' } as const;
const world = claimWorld();

function listOf(name: PostedList['name'], ...items: readonly object[]): PostedList {
  return { name, items, format: 'json' };
}

/** The faults of a command, as it is sent without HTTP. */
async function faultsOf(command: Command<unknown>): Promise<readonly string[]> {
  const error: unknown = await world.app.http
    .get(CommandBus)
    .execute(command)
    .then(
      () => undefined,
      (reason: unknown) => reason,
    );
  if (!(error instanceof Faults)) throw error;
  return error.faults.map(({ code, message }) => `${code} ${message.split(/[ :]/, 1)[0]}`);
}

describe('Commands of claims have what was posted, which their handlers check (ADR 18)', () => {
  it.each([CreateClaims, CheckClaims])('%p: fields, access, and keys', async (Posting) => {
    const [taken, twice] = [claimOf(`taken-${Posting.name}`), claimOf(`twice-${Posting.name}`)];
    const bus = world.app.http.get(CommandBus);
    const { ids } = await bus.execute(new CreateClaims(listOf('claims', taken), PUBLISHER));
    expect(ids).toHaveLength(1);
    const wrong = claimOf('wrong', { affiliateSiteId: 1201, orderValue: 'ten', timeStampEvent: undefined });
    expect(await faultsOf(new Posting(listOf('claims', wrong, taken, twice, twice), PUBLISHER))).toEqual([
      'UTS_240 claims[0].timeStampEvent',
      'UTS_260 claims[0].orderValue',
      'UTS_396 claims[0].affiliateSiteId',
      'UTS_397 claims[1]',
      'UTS_397 claims[3]',
    ]);
  });

  it('updates of publishers and of advertisers too', async () => {
    const update = { ...claimOf('none'), claimId: 1e9, versionNo: 'x' };
    expect(await faultsOf(new ReviseClaims(listOf('claimUpdates', update), PUBLISHER))).toEqual([
      'UTS_260 claimUpdates[0].versionNo',
    ]);
    const ruling = { claimId: 1e9, versionNo: 0, statusIdClaim: 212, orderValue: 1 };
    expect(await faultsOf(new RuleOnClaims(listOf('claimUpdates', ruling), ADVERTISER))).toEqual([
      'UTS_430 claimUpdates[0].orderValue',
    ]);
    expect(await faultsOf(new RuleOnClaims(listOf('claimUpdates', ruling), ADVERTISER, true))).toEqual([
      'UTS_306 claimUpdates[0].statusIdClaim',
    ]);
  });

  it.each([
    [CreateClaims, 'claims', ADVERTISER, 'UTS_395'],
    [ReviseClaims, 'claimUpdates', { organisationId: 90, kind: 'operator' }, 'UTS_304'],
    [RuleOnClaims, 'claimUpdates', PUBLISHER, 'UTS_304'],
  ] as const)(
    '%p refuses callers of another kind first (decisions C1)',
    async (Posting, name, caller, code) => {
      const sent = world.app.http.get(CommandBus).execute(new Posting(listOf(name, {}), caller));
      await expect(sent).rejects.toMatchObject({ code });
    },
  );
});
