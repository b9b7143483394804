import { randomUUID } from 'node:crypto';
import { NO_STREAM, START } from '../../../src/kernel/event';
import { toNewEvent } from '../../../src/kernel/decider';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import {
  formerIdOf,
  legacyIdOf,
  reportedTransaction,
  transactionIdOf,
} from '../../../src/domain/transactions/transaction-id';
import { type TransactionFacts } from '../../../src/domain/transactions/transaction-facts';
import { overrideLog, withLog } from '../../support/temporary-log';
import { sale } from '../../support/transactions';

/** A log that counts the streams that are read, and from where its first transaction is looked for. */
function watched(log: EventLog) {
  const read: string[] = [];
  const searchedAfter: string[] = [];
  const failing = { searches: 0 };
  const through = overrideLog(log, {
    readStream: (...asked) => {
      read.push(asked[0]);
      return log.readStream(...asked);
    },
    readAll: (options) => {
      searchedAfter.push(options.after);
      if (failing.searches-- > 0) throw new EngineUnavailable('out of reach');
      return log.readAll(options);
    },
  });
  return { log: through, read, searchedAfter, failing };
}

const idOf = (facts: TransactionFacts) => transactionIdOf(legacyIdOf(facts), facts.programId);

async function append(log: EventLog, id: string, transaction: TransactionFacts): Promise<void> {
  const data = { at: '2026-01-05T08:00:00.000Z', transaction };
  await log.append(`transaction-${id}`, NO_STREAM, [
    toNewEvent({ type: 'TransactionTracked', data }, randomUUID()),
  ]);
}

/** Reports another order, until a report reads no stream of a former id any more; false if all of them read one. */
async function stopsReading({ log, read }: ReturnType<typeof watched>): Promise<boolean> {
  for (let turn = 0; turn < 100; turn += 1) {
    const before = read.length;
    const other = sale();
    expect((await reportedTransaction(log, other)).transactionId).toBe(idOf(other));
    if (read.length === before) return true;
    await new Promise(setImmediate);
  }
  return false;
}

describe('reports look for a transaction with a former id (decisions T1)', () => {
  it('while the log has no transaction, and never again once its first one has an id with the program', () =>
    withLog(async (log) => {
      await log.append('feed-1', NO_STREAM, [toNewEvent({ type: 'ProductListed', data: {} }, randomUUID())]);
      const one = watched(log);
      expect(await stopsReading(one)).toBe(false);
      const [, second] = one.searchedAfter;
      // What was read is not read again.
      expect([one.searchedAfter[0], second]).toEqual([START, await log.head()]);
      const first = sale();
      await append(log, idOf(first), first);
      expect(await stopsReading(one)).toBe(true);
      const searches = one.searchedAfter.length;
      expect(await stopsReading(one)).toBe(true);
      expect(one.searchedAfter).toHaveLength(searches);
    }));

  it('for ever if the first one has such an id, whatever has followed it', () =>
    withLog(async (log) => {
      const [first, second, third] = [sale(), sale(), sale()];
      await append(log, formerIdOf(legacyIdOf(first)), first);
      await append(log, idOf(second), second);
      await append(log, formerIdOf(legacyIdOf(third)), third);
      const one = watched(log);
      expect(await stopsReading(one)).toBe(false);
      for (const facts of [first, third])
        expect((await reportedTransaction(one.log, facts)).transactionId).toBe(formerIdOf(legacyIdOf(facts)));
      expect(one.searchedAfter).toEqual([START]);
    }));

  it.each([true, false])('whatever another program has written before the first one: %s', (isFormer) =>
    withLog(async (log) => {
      const first = sale();
      const foreign = [
        {},
        { transaction: null },
        { transaction: 5 },
        { transaction: first },
        { transaction: { orderNumber: { toString: 5 } } },
      ];
      const events = foreign.map((data) => toNewEvent({ type: 'TransactionTracked', data }, randomUUID()));
      await log.append(`transaction-${'0'.repeat(32)}`, NO_STREAM, events);
      await log.append('transaction-5', NO_STREAM, [
        toNewEvent({ type: 'TransactionTracked', data: {} }, randomUUID()),
      ]);
      const one = watched(log);
      expect(await stopsReading(one)).toBe(false);
      // What was read is not read again.
      expect([one.searchedAfter[0], new Set(one.searchedAfter).size]).toEqual([START, 2]);
      await append(log, isFormer ? formerIdOf(legacyIdOf(first)) : idOf(first), first);
      expect(await stopsReading(one)).toBe(!isFormer);
      expect((await reportedTransaction(one.log, first)).transactionId).toBe(
        isFormer ? formerIdOf(legacyIdOf(first)) : idOf(first),
      );
      const searches = one.searchedAfter.length;
      expect(await stopsReading(one)).toBe(!isFormer);
      expect(one.searchedAfter).toHaveLength(searches);
    }),
  );

  it('as long as the first one cannot be read', () =>
    withLog(async (log) => {
      const first = sale();
      await append(log, idOf(first), first);
      const one = watched(log);
      one.failing.searches = 2;
      expect(await stopsReading(one)).toBe(true);
      expect(one.searchedAfter).toEqual([START, START, START]);
    }));
});
