import {
  type ClaimCommand,
  claimDecider,
  type ClaimEvent,
  type ClaimState,
} from '../../../src/domain/claims/claim';
import { type RulingStatusId, type ScreenedStatusId } from '../../../src/domain/claims/statuses';
import { STATUS_TABLE } from '../../api/claim-tables';
import { AT, contentOf, LATER } from './claim-log';
import { refusalOf } from '../../services/claims/posted';

const VERSION = 4;

/** A claim that has a status in the way in which claims get it, at `VERSION`. */
function claimIn(statusId: number, by: 'advertiser' | 'system' = 'advertiser'): ClaimState {
  const claim = contentOf('A');
  const subject = { publisherId: 5, advertiserId: 3, claim };
  const events: ClaimEvent[] = [
    { type: 'ClaimFiled', data: { at: AT, publisherId: 5, advertiserId: 3, claim } },
    { type: 'ClaimRevised', data: { at: AT, version: VERSION, claim, advertiserId: 3 } },
  ];
  const screened = statusId === 3 || statusId > 200 ? 2 : statusId;
  if (statusId !== 1)
    events.push({
      type: 'ClaimScreened',
      data: {
        ...subject,
        at: AT,
        version: VERSION,
        statusId: screened as ScreenedStatusId,
        autoApproveAt: AT,
      },
    });
  if (screened !== statusId)
    events.push({
      type: 'ClaimRuled',
      data: { ...subject, at: AT, version: VERSION, by, statusId: statusId as RulingStatusId },
    });
  return events.reduce<ClaimState>((state, event) => claimDecider.evolve(state, event), { is: 'unknown' });
}

const COMMANDS = {
  'an update by its advertiser': { do: 'rule', at: LATER, version: VERSION, ruling: { statusId: 3 } },
  'an update by its publisher': {
    do: 'revise',
    at: LATER,
    version: VERSION,
    claim: contentOf('B'),
    screening: { statusId: 2 },
  },
  'a deletion': { do: 'withdraw', at: LATER, version: VERSION },
} as const satisfies Readonly<Record<string, ClaimCommand>>;

/** Document 3, Moves that are shown; a claim in status 1 is about to be screened. */
const ALLOWED: Readonly<Record<keyof typeof COMMANDS, (statusId: number) => boolean>> = {
  'an update by its advertiser': (statusId) => statusId === 2,
  'an update by its publisher': (statusId) => statusId === 2 || (statusId >= 100 && statusId < 200),
  'a deletion': (statusId) => statusId !== 3 && statusId < 200,
};

const STATUSES = STATUS_TABLE.map(([statusId, name]) => [statusId, name] as const);

describe.each(Object.keys(COMMANDS) as (keyof typeof COMMANDS)[])(
  '%s (Document 3, Moves that are shown; decisions C9)',
  (move) => {
    const command = COMMANDS[move];

    it.each(STATUSES)('in status %i, %s, moves the claim or is UTS_405', (statusId) => {
      const state = claimIn(statusId);
      expect(state).toMatchObject({ statusId, version: VERSION });
      if (ALLOWED[move](statusId)) expect(claimDecider.decide(command, state)).not.toEqual([]);
      else
        expect(refusalOf(() => claimDecider.decide(command, state))).toEqual({
          status: 409,
          faults: [expect.stringMatching(`^UTS_405 the claim has status ${statusId}: it cannot be `)],
        });
    });

    it.each([0, VERSION - 1, VERSION + 1])(
      'of version %i, which is not the latest, is UTS_405 (Document 3, Versioning)',
      (version) => {
        const stale = () => claimDecider.decide({ ...command, version }, claimIn(2));
        expect(refusalOf(stale).faults).toEqual([
          `UTS_405 versionNo is ${version}, but the latest version of the claim is ${VERSION}`,
        ]);
      },
    );
  },
);

describe('what the system does with a claim', () => {
  it.each(STATUSES)('in status %i, %s: it approves what awaits approval (decisions C11)', (statusId) => {
    const events = claimDecider.decide({ do: 'autoApprove', at: LATER }, claimIn(statusId));
    const moved = events.map(({ data }) => data);
    expect(moved).toEqual(
      statusId === 2 ? [expect.objectContaining({ statusId: 3, by: 'system', version: VERSION })] : [],
    );
  });

  it('cannot be undone by deleting it (decisions C9)', () => {
    const deletion = () => claimDecider.decide(COMMANDS['a deletion'], claimIn(3, 'system'));
    expect(refusalOf(deletion).status).toBe(409);
  });
});
