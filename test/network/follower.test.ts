import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { directoryAt } from '../../src/network/directory';
import { FollowedDirectory } from '../../src/network/follower';
import { networkOf } from '../../src/network/network-facts';
import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, START } from '../../src/kernel/event';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { importNetwork } from '../../src/operations/import-network';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { smallNetwork } from '../support/small-network';
import { logFolder } from '../support/log-folder';
import { overrideLog, withLog } from '../support/temporary-log';

const AT = '2026-01-05T08:00:00.000Z';

const PROGRAM = { id: 32, organisationId: 1, name: 'P', country: 'SE', currency: 'SEK', at: AT };

const feed = toNewEvent({ type: 'ProductDelisted', data: { sourceProductId: 'a', at: AT } }, randomUUID());

describe('A directory that follows the log', () => {
  afterEach(() => jest.useRealTimers());

  it('is ready once it has applied all existing events', () =>
    withLog(async (log) => {
      const { position } = await importNetwork(SYSTEM_CLOCK, log, smallNetwork(), { at: AT });
      const ending = new AbortController();
      const followed = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal);
      await followed.ready;
      expect(followed.position >= position).toBe(true);
      expect(networkOf(followed.directory).feeds).toHaveLength(5);
      ending.abort();
      await followed.ended;
    }));

  it('is ready at once with an empty log', () =>
    withLog(async (log) => {
      const ending = new AbortController();
      const followed = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal);
      await followed.ready;
      expect(followed.position).toBe(START);
      ending.abort();
      await followed.ended;
    }));

  it('applies what another process imports, within a second of its clock (docs/operations.md, Tokens)', async () => {
    // All but the timers by which a log looks for what others have appended.
    jest.useFakeTimers({
      doNotFake: [
        ...(['Date', 'hrtime', 'performance', 'nextTick', 'queueMicrotask'] as const),
        ...(['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'] as const),
      ],
    });
    const folder = await logFolder();
    const [own, others] = [await openLog(folder.file, false), await openLog(folder.file, false)];
    const ending = new AbortController();
    const followed = new FollowedDirectory(SYSTEM_CLOCK, own.log, ending.signal);
    await followed.ready;
    while (jest.getTimerCount() === 0) await turn();
    const { position } = await importNetwork(SYSTEM_CLOCK, others.log, smallNetwork(), { at: AT });
    expect(followed.position).toBe(START);
    jest.advanceTimersByTime(1_000);
    expect(await followed.reached(position, AbortSignal.timeout(20_000))).toBe(true);
    ending.abort();
    await followed.ended;
    for (const { log } of [own, others]) await log.close();
    await folder.remove();
  });

  it('applies later imports', () =>
    withLog(async (log) => {
      const ending = new AbortController();
      const followed = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal);
      await followed.ready;
      const { position } = await importNetwork(SYSTEM_CLOCK, log, smallNetwork(), { at: AT });
      expect(await followed.reached(position)).toBe(true);
      expect(followed.directory.feed(301)).toMatchObject({ name: 'Fjord all' });
      ending.abort();
      await followed.ended;
    }));

  it('advances past events of other streams', () =>
    withLog(async (log) => {
      const ending = new AbortController();
      const followed = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal);
      const { position } = await log.append('feed-301', NO_STREAM, [feed]);
      expect(await followed.reached(position)).toBe(true);
      ending.abort();
      await followed.ended;
    }));

  it.each([
    ['program-1', 'ProgramDefined', {}],
    ['program-32', 'ProgramDefined', { id: 32 }],
    ['program-32', 'ProgramDefined', { ...PROGRAM, events: [null] }],
    ['program-32', 'ProgramPaused', {}],
    ['site-1', 'SiteDefined', {}],
    ['organisation-1', 'OrganisationDefined', { id: '1' }],
    ['organisation-1', 'TokenIssued', {}],
    ['feedinfo-1', 'FeedDefined', { id: 1 }],
    ['category-1', 'CategoryDefined', { id: '1', parentId: null, names: null }],
    ['category-1', 'CategoryRemoved', {}],
    ['mapping-1', 'CategoryMapped', {}],
  ])(
    'ignores what another program has written without what it needs, reports it, and applies the rest: %s %s %j (decisions X103)',
    (stream, type, data) =>
      withLog(async (log) => {
        await importNetwork(SYSTEM_CLOCK, log, smallNetwork(), { at: AT });
        const before = networkOf(await directoryAt(log));
        let revision = NO_STREAM;
        for await (const batch of log.readStream(stream)) revision = batch.at(-1)?.revision ?? revision;
        const poisoned = toNewEvent({ type, data }, randomUUID());
        await log.append(stream, revision, [poisoned]);
        const reports: string[] = [];
        const ending = new AbortController();
        const followed = new FollowedDirectory(
          SYSTEM_CLOCK,
          log,
          ending.signal,
          undefined,
          undefined,
          (failure) => reports.push(failure),
        );
        await followed.ready;
        expect(networkOf(followed.directory)).toEqual(before);
        expect(reports).toEqual([
          expect.stringContaining(`${stream}@${revision + 1} of the reference data is ignored`),
        ]);
        expect(followed.directory.unusable).toMatchObject([
          { event: poisoned.id, type, stream, revision: revision + 1 },
        ]);
        const { position } = await log.append('category-77', NO_STREAM, [
          toNewEvent(
            {
              type: 'CategoryDefined',
              data: { id: '77', parentId: null, names: { en: 'New' }, at: AT },
            },
            randomUUID(),
          ),
        ]);
        await followed.reached(position);
        expect(followed.directory.category('77')).toBeDefined();
        // Commands decide over such a stream too.
        await importNetwork(SYSTEM_CLOCK, log, smallNetwork(), { at: AT });
        ending.abort();
        await followed.ended;
      }),
  );

  it('times out a request that waits for a position that is never reached', () =>
    withLog(async (log) => {
      const ending = new AbortController();
      const followed = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal, 20);
      const { position } = await log.append('feed-301', NO_STREAM, [feed]);
      await followed.reached(position);
      await expect(followed.reachedInTime('9'.repeat(START.length))).rejects.toThrow(EngineUnavailable);
      await followed.reachedInTime(position);
      ending.abort();
      await followed.ended;
    }));

  it('stops waiting when the signal aborts', () =>
    withLog(async (log) => {
      const ending = new AbortController();
      const followed = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal);
      const waiting = followed.reached('9'.repeat(19), AbortSignal.timeout(1));
      expect(await waiting).toBe(false);
      ending.abort();
      await followed.ended;
    }));

  it('retries an unavailable engine and continues from its position', () =>
    withLog(async (log) => {
      const { position } = await importNetwork(SYSTEM_CLOCK, log, smallNetwork(), { at: AT });
      const ending = new AbortController();
      const errors = [new EngineUnavailable('first'), new EngineUnavailable('second')];
      const followed = new FollowedDirectory(SYSTEM_CLOCK, failing(log, errors), ending.signal);
      await followed.reached(position);
      expect(errors).toEqual([]);
      expect(networkOf(followed.directory).sites).toHaveLength(3);
      ending.abort();
      await followed.ended;
    }));

  it('rejects on any other error, which ends the thread even if nobody waits', () =>
    withLog(async (log) => {
      const bug = new TypeError('a bug');
      const bugs: unknown[] = [];
      const { signal } = new AbortController();
      const followed = new FollowedDirectory(SYSTEM_CLOCK, failing(log, [bug]), signal, undefined, (one) =>
        bugs.push(one),
      );
      await expect(followed.ended).rejects.toThrow('a bug');
      expect(bugs).toEqual([bug]);
    }));
});

/** A log whose subscriptions fail after their first batch, once for each error. */
function failing(log: EventLog, errors: Error[]): EventLog {
  return overrideLog(log, {
    async *subscribe(options) {
      for await (const batch of log.subscribe({ ...options, batchSize: 5 })) {
        yield batch;
        const error = errors.shift();
        if (error !== undefined) throw error;
      }
    },
  });
}
