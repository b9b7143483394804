import { Matched, messageTo } from '../../../bench/deliveries/due-messages';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { type EventLog } from '../../../src/kernel/event-log';
import { type Message } from '../../../src/domain/deliveries/delivery-events';
import { MessageCache } from '../../../src/delivery/scheduling/message-cache';
import { logFolder, type LogFolder } from '../../support/log-folder';
import { overrideLog } from '../../support/temporary-log';

const MESSAGES = 200;
const TARGET = { subscriptionId: 's', receiver: 'r', url: 'https://r.example/' };
const MESSAGE = messageTo(TARGET, { subject: 't', sequence: 1, cause: '0' });
const LARGE = { ...MESSAGE, request: { url: TARGET.url, body: 'b'.repeat(10_000) } } as Message;

describe('The cache of messages', () => {
  let folder: LogFolder;
  let log: EventLog;
  let reads = 0;

  beforeEach(async () => {
    folder = await logFolder();
    ({ log } = await openLog(folder.file, false));
    const messages = Array.from({ length: MESSAGES }, (_, sequence) =>
      messageTo(TARGET, { subject: `t${sequence}`, sequence, cause: '0' }),
    );
    await new Matched(log).append(messages, '0');
    reads = 0;
  });
  afterEach(async () => {
    await log.close();
    await folder.remove();
  });

  function cacheWanting(isWanted: (revision: number) => boolean, maxBytes?: number): MessageCache {
    const counting = overrideLog(log, {
      readStream: (...read) => {
        reads += 1;
        return log.readStream(...read);
      },
    });
    return new MessageCache(counting, (_, revision) => isWanted(revision), maxBytes);
  }

  it('reads neighbours once, however many of them are needed at the same time', async () => {
    const cache = cacheWanting(() => true);
    await Promise.all(Array.from({ length: MESSAGES }, (_, revision) => cache.load(revision)));
    expect(cache.get(MESSAGES - 1)?.sequence).toBe(MESSAGES - 1);
    expect(reads).toBe(1);
  });

  it('reads little at a time, however many messages are needed that are far apart', async () => {
    const [each, count] = [100, 40];
    const messages = Array.from({ length: each * count }, (_, sequence) =>
      messageTo(TARGET, { subject: `u${sequence}`, sequence, cause: '0' }),
    );
    const own = await logFolder();
    const { log: long } = await openLog(own.file, false);
    await new Matched(long).append(messages, '0');
    let [atOnce, most, events, begun] = [0, 0, 0, 0];
    const counting = overrideLog(long, {
      readStream: async function* (...read) {
        [atOnce, begun] = [atOnce + 1, begun + 1];
        most = Math.max(most, atOnce);
        for await (const batch of long.readStream(...read)) {
          events += batch.length;
          yield batch;
        }
        atOnce -= 1;
      },
    });
    const cache = new MessageCache(counting, () => true);
    const begunAtEnd: number[] = [];
    const loads = Array.from({ length: count }, async (_, at) => {
      expect(await cache.load(at * each)).toBeDefined();
      begunAtEnd.push(begun);
    });
    await Promise.all(loads);
    await long.close();
    await own.remove();
    expect(most).toBeLessThanOrEqual(4);
    // The first one does not wait for those that are needed later.
    expect(begunAtEnd[0]).toBeLessThanOrEqual(8);
    expect(events).toBeLessThanOrEqual(4 * 256 + count * 16);
  });

  it('reads again what nobody wanted when its neighbours were read', async () => {
    const cache = cacheWanting((revision) => revision === 0);
    await Promise.all([0, 1, 2].map((revision) => cache.load(revision)));
    expect([0, 1, 2, 3].map((revision) => cache.get(revision)?.sequence)).toEqual([0, 1, 2, undefined]);
    expect(reads).toBe(3);
  });

  it('has what was needed once it is loaded, however small it is: its neighbours make room', async () => {
    const cache = cacheWanting(() => true, 10_000);
    for (let revision = 0; revision < MESSAGES; revision += 1) {
      expect((await cache.load(revision))?.sequence).toBe(revision);
      expect(cache.get(revision)?.sequence).toBe(revision);
    }
  });

  it('reads one message instead of its neighbours when it is full', async () => {
    const cache = cacheWanting(() => true, 10_000);
    const counts: number[] = [];
    for (const revision of [0, 100]) {
      await cache.load(revision);
      counts.push(Array.from({ length: MESSAGES }, (_, at) => cache.get(at)).filter(Boolean).length);
    }
    expect(counts[0]).toBeLessThan(10);
    expect(counts[1]).toBeLessThanOrEqual((counts[0] ?? 0) + 1);
  });

  it('knows what is no longer in the log from what it has no room for', async () => {
    const cache = cacheWanting(() => true, 1);
    const found = await Promise.all(
      [0, 1, MESSAGES - 1, MESSAGES + 1, 10 * MESSAGES].map((revision) => cache.load(revision)),
    );
    expect(found.map((message) => message?.sequence)).toEqual([0, 1, MESSAGES - 1, undefined, undefined]);
  });

  it.each([
    ['it is sent', (cache: MessageCache) => cache.delete(1)],
    ['others take its room', (cache: MessageCache) => cache.replace(MESSAGES, LARGE)],
  ])(
    'does not take a message for one that the log has no longer if %s while it is read',
    async (_, happens) => {
      const slow = overrideLog(log, {
        readStream: async function* (stream, options) {
          yield* log.readStream(stream, { ...options, limit: 2 });
          happens(cache);
          yield* log.readStream(stream, { ...options, from: 2 });
        },
      });
      const cache = new MessageCache(slow, () => false, 10_000);
      const message = await cache.load(1);
      expect(cache.get(1)).toBeUndefined();
      expect(message?.sequence).toBe(1);
    },
  );

  it('has a new message that is next to be sent, however many wait that are not', () => {
    const cache = cacheWanting(() => true, 10_000);
    const message = JSON.stringify(MESSAGE);
    for (let revision = 0; revision < 100; revision += 1) cache.add(revision, message, false);
    expect(cache.get(99)).toBeUndefined();
    for (let revision = 100; revision < 200; revision += 1) {
      cache.add(revision, message, true);
      expect(cache.get(revision)).toEqual(MESSAGE);
      cache.delete(revision);
    }
  });

  it('keeps the oldest of those that are next to be sent', () => {
    const cache = cacheWanting(() => true, 10_000);
    for (let revision = 0; revision < 100; revision += 1) cache.add(revision, JSON.stringify(MESSAGE), true);
    expect([0, 1, 2, 99].map((revision) => cache.get(revision) !== undefined)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});
