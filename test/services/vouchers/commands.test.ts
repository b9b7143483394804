import { FollowedDirectory } from '../../../src/network/follower';
import { VisibleWrites, WaitForReadModels } from '../../../src/http/visible-writes';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import { type Position } from '../../../src/kernel/event';
import { Fault, Faults } from '../../../src/kernel/fault';
import { importNetwork } from '../../../src/operations/import-network';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { VoucherCommands } from '../../../src/services/vouchers/commands';
import { VoucherWriter } from '../../../src/domain/vouchers/voucher';
import { TestClock } from '../../support/clock';
import { smallNetwork } from '../../support/small-network';
import { eventsOf, overrideLog, withLog } from '../../support/temporary-log';
import { AT } from '../../domain/vouchers/posted';

const NOW = Date.parse(AT);
const DAY = 24 * 60 * 60 * 1000;

/** Advertiser 3 has program 31, advertiser 4 has program 41. */
const [OWNER, OTHER] = [3, 4];

function posted(changes: object = {}) {
  return {
    title: 'Free delivery',
    programId: 31,
    voucherTypeId: 4,
    shortDescription: 'free',
    description: 'Delivered for nothing',
    startDate: NOW,
    endDate: NOW + DAY,
    ...changes,
  };
}

/** The commands over a log, without a container; `waits` are the positions they have waited for. */
async function withCommands(
  use: (parts: {
    readonly log: EventLog;
    readonly waits: readonly Position[];
    readonly commands: VoucherCommands;
  }) => Promise<void>,
  engine = (log: EventLog): EventLog => log,
): Promise<void> {
  await withLog(async (log) => {
    await importNetwork(SYSTEM_CLOCK, log, smallNetwork(), { at: AT });
    const ending = new AbortController();
    const follower = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal);
    await follower.reached(await log.head());
    const waits: Position[] = [];
    const readModels = new WaitForReadModels(SYSTEM_CLOCK, async (position) => waits.push(position) > 0);
    const clock = new TestClock(() => new Date(NOW));
    const vouchers = new VoucherWriter(SYSTEM_CLOCK, engine(log));
    const visible = new VisibleWrites(log, readModels);
    const commands = new VoucherCommands(vouchers, visible, follower, clock);
    try {
      await use({ log, waits, commands });
    } finally {
      ending.abort();
      await follower.ended;
    }
  });
}

const faultsOf = async (refused: Promise<unknown>): Promise<readonly string[]> => {
  const error = await refused.catch((reason: unknown) => reason);
  if (error instanceof Fault) return [error.code];
  return error instanceof Faults ? error.faults.map(({ code }) => code) : [`no faults: ${String(error)}`];
};

describe('The command that posts a voucher (ADR 18)', () => {
  it('checks plain data, authorises, and takes the time from its clock: what it refuses is not written', () =>
    withCommands(async ({ log, waits, commands }) => {
      const head = await log.head();
      const late = posted({ title: '', endDate: NOW + 367 * DAY });
      expect(await faultsOf(commands.post(late, OWNER))).toEqual(['101', '101']);
      expect(await faultsOf(commands.post(posted(), OTHER))).toEqual(['102']);
      expect(await faultsOf(commands.post('nothing', OWNER))).toEqual(['101']);
      expect([await log.head(), waits]).toEqual([head, []]);
    }));

  it('waits for what it has written, and returns where that is in the log', () =>
    withCommands(async ({ log, waits, commands }) => {
      const first = await commands.post(posted({ sourceId: 'a' }), OWNER);
      const [published] = (await eventsOf(log)).filter(({ type }) => type === 'VoucherPublished');
      expect(JSON.parse(published?.data ?? '{}')).toMatchObject({ at: AT });
      expect(first).toEqual({ id: 1, position: published?.position });
      const unchanged = await commands.post(posted({ sourceId: 'a' }), OWNER);
      expect(unchanged).toEqual({ id: 1, position: await log.head() });
      expect(waits).toEqual([first.position]);
    }));
});

describe('The command that posts several vouchers (ADR 18; decisions V17)', () => {
  it('waits once, for the last of all that it has written', () =>
    withCommands(async ({ log, waits, commands }) => {
      const vouchers = [posted({ sourceId: 'a' }), posted({ title: '' }), posted({ sourceId: 'b' })];
      const { results, position } = await commands.postAll(vouchers, OWNER);
      expect(results.map((result) => 'id' in result)).toEqual([true, false, true]);
      const written = (await eventsOf(log)).filter(({ type }) => type === 'VoucherPublished');
      expect(waits).toEqual([written.at(-1)?.position]);
      expect(position).toBe(written.at(-1)?.position);
    }));

  it('starts no further voucher when the log is unavailable', () => {
    let appends = 0;
    const down = (log: EventLog): EventLog =>
      overrideLog(log, {
        append: () => {
          appends += 1;
          return Promise.reject(new EngineUnavailable('down'));
        },
      });
    return withCommands(async ({ commands }) => {
      const vouchers = Array.from({ length: 500 }, (_, at) => posted({ sourceId: `${at}` }));
      await expect(commands.postAll(vouchers, OWNER)).rejects.toThrow('down');
      // Two attempts of the block of ids that those under way wait for together, and no more.
      expect(appends).toBeLessThan(100);
    }, down);
  });
});

describe('The command that withdraws a voucher (ADR 18)', () => {
  it('does so for its owner only, and waits for it', () =>
    withCommands(async ({ log, waits, commands }) => {
      const { id } = await commands.post(posted(), OWNER);
      await expect(commands.withdraw(id, OTHER)).rejects.toMatchObject({ code: '101' });
      const { position } = await commands.withdraw(id, OWNER);
      const withdrawn = (await eventsOf(log)).find(({ type }) => type === 'VoucherWithdrawn');
      expect([position, waits.at(-1)]).toEqual([withdrawn?.position, position]);
      await expect(commands.withdraw(id, OWNER)).rejects.toMatchObject({ code: '101' });
    }));
});
