import {
  claimBatchDecider,
  type ClaimContent,
  claimDecider,
  type FiledClaim,
} from '../../../src/domain/claims/claim';
import { ClaimWriter, keyOf, type NewClaim } from '../../../src/domain/claims/claim-writer';
import { load } from '../../../src/kernel/decider';
import { START } from '../../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { overrideLog } from '../../support/temporary-log';

export const AT = '2026-03-01T12:00:00.000Z';
/** When a reservation of `AT` may be taken over. */
export const LATER = '2026-03-01T12:00:30.000Z';

export function contentOf(orderNumber: string): ClaimContent {
  return {
    siteId: 52,
    programId: 31,
    transactionDate: '2026-02-27',
    eventId: 17,
    orderNumber,
    orderValue: 10_000,
    expectedCommission: 500,
  };
}

/** A claim of publisher 5 that awaits approval. */
export function newClaim(orderNumber: string): NewClaim {
  const origin = { publisherId: 5, advertiserId: 3 };
  return { origin, claim: contentOf(orderNumber), screening: { statusId: 2 } };
}

/** The claims that are filed and not withdrawn, by id. No two of them may have the same key. */
async function filedIn(log: EventLog): Promise<ReadonlyMap<number, FiledClaim>> {
  const filed = new Map<number, FiledClaim>();
  for (const id of await idsIn(log, /^claim-(\d+)$/)) {
    const { state } = await load(log, claimDecider, id);
    if (state.is === 'filed') filed.set(id, state);
  }
  const keys = [...filed.values()].map(({ claim }) => keyOf(claim));
  expect(new Set(keys).size).toBe(keys.length);
  return filed;
}

export async function ordersIn(log: EventLog): Promise<readonly string[]> {
  return [...(await filedIn(log)).values()].map(({ claim }) => claim.orderNumber).sort();
}

/** Finishes the batches that are accepted, as the automation does. */
export async function finishBatches(log: EventLog): Promise<void> {
  for (const id of await idsIn(log, /^claim-batch-(\d+)$/)) {
    const { state } = await load(log, claimBatchDecider, id);
    if (state.is === 'accepted') await new ClaimWriter(SYSTEM_CLOCK, log).finish(id, state);
  }
}

async function idsIn(log: EventLog, pattern: RegExp): Promise<ReadonlySet<number>> {
  const ids = new Set<number>();
  for await (const { events } of log.readAll({ after: START, prefixes: ['claim-'] }))
    for (const { stream } of events) {
      const [, id] = pattern.exec(stream) ?? [];
      if (id !== undefined) ids.add(Number(id));
    }
  return ids;
}

/** What happens at an append: it is the `count`-th one to a stream with this beginning. */
export type AtAppend = (append: () => ReturnType<EventLog['append']>) => ReturnType<EventLog['append']>;

/** A log that treats one append in a special way. Tells whether that has happened. */
export function atAppend(
  log: EventLog,
  count: number,
  act: AtAppend,
): { readonly log: EventLog; readonly hasHappened: () => boolean } {
  let appends = 0;
  const special = overrideLog(log, {
    append: (...args) => {
      appends += 1;
      const append = () => log.append(...args);
      return appends === count ? act(append) : append();
    },
  });
  return { log: special, hasHappened: () => appends >= count };
}

/**
 * The log of a process that ends before or after its `count`-th append: nothing that it does afterwards has an effect.
 */
export function endingAt(
  log: EventLog,
  count: number,
  when: 'before' | 'after',
): { readonly log: EventLog; readonly hasEnded: () => boolean } {
  let appends = 0;
  let hasEnded = false;
  const end = (): never => {
    hasEnded = true;
    throw new EngineUnavailable('the process has ended');
  };
  const ending = overrideLog(log, {
    append: async (...args) => {
      if (hasEnded) end();
      appends += 1;
      if (appends < count) return await log.append(...args);
      if (when === 'after') {
        hasEnded = true;
        await log.append(...args);
      }
      return end();
    },
    readStream: (...args) => (hasEnded ? end() : log.readStream(...args)),
  });
  return { log: ending, hasEnded: () => hasEnded };
}
