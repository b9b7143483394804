import fc from 'fast-check';
import { type RecordedEvent } from '../../../src/kernel/event';
import {
  type MatchedEvent,
  type Outcome,
  type OutcomeKind,
  partitionStream,
} from '../../../src/domain/deliveries/delivery-events';
import {
  receiverIn,
  takeMatched,
  PartitionState,
  restorePartition,
  type SavedPart,
  savePartition,
} from '../../../src/delivery/scheduling/partition-state';
import { golden } from '../../support/golden';
import { cases } from '../../support/size';

const START_MS = Date.parse('2026-03-01T00:00:00Z');

type Matched =
  | { readonly is: 'due'; readonly receiver: string; readonly revision: number }
  | { readonly is: 'redelivery'; readonly receiver: string; readonly revision: number; readonly of: number }
  | { readonly is: 'cursor'; readonly revision: number };
type Step = Matched | { readonly is: 'outcome'; readonly outcome: Outcome };

function take(state: PartitionState, step: Matched): void {
  if (step.is === 'due') state.due(step.receiver, step.revision);
  else if (step.is === 'redelivery') state.redeliver(step.receiver, step.revision, step.of);
  else state.reach(step.revision);
}

function apply(state: PartitionState, step: Step): void {
  if (step.is === 'outcome') state.settle(step.outcome);
  else take(state, step);
}

/** What is left to send, however it is kept: all of it in the order of receivers. */
function contentOf(state: PartitionState, matched: readonly Matched[]): unknown {
  return [...state.receivers]
    .filter(([, receiver]) => !receiver.isBlank)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { queue, retries, redeliveries, health, unreadFrom: rest, settled }]) => {
      const left = matched.flatMap((event) =>
        event.is === 'due' && event.receiver === id && event.revision >= (rest ?? Infinity)
          ? [event.revision].filter((revision) => !settled.has(revision))
          : [],
      );
      const byRevision = (pairs: ReadonlyMap<number, unknown>) => [...pairs].sort(([a], [b]) => a - b);
      return [id, [...queue, ...left], byRevision(retries), byRevision(redeliveries), health];
    });
}

const KINDS: readonly OutcomeKind[] = ['delivered', 'failed', 'failed', 'dead', 'cancelled'];

/** Plays random numbers as a history: outcomes are about messages that are due. */
function historyOf(numbers: readonly number[], state: PartitionState): readonly Step[] {
  const steps: Step[] = [];
  const due: { readonly receiver: string; readonly revision: number }[] = [];
  const redeliveries: { readonly receiver: string; readonly revision: number; readonly of: number }[] = [];
  let revision = -1;
  for (const [at, number] of numbers.entries()) {
    const receiver = `r${number % 3}`;
    const pick = due[number % Math.max(1, due.length)];
    const again = redeliveries[number % Math.max(1, redeliveries.length)];
    const kind = number % 11;
    let step: Step | undefined;
    if (kind < 5) step = { is: 'due', receiver, revision: (revision += 1) };
    else if (kind === 5) step = { is: 'cursor', revision: (revision += 1) };
    else if (kind === 6 && pick !== undefined)
      step = { is: 'redelivery', receiver: pick.receiver, revision: (revision += 1), of: pick.revision };
    else if (kind === 7 && again !== undefined)
      step = { is: 'outcome', outcome: outcomeOf(again.receiver, again.of, number, at, again.revision) };
    else if (pick !== undefined)
      step = { is: 'outcome', outcome: outcomeOf(pick.receiver, pick.revision, number, at) };
    if (step === undefined) continue;
    if (step.is === 'outcome' && !isPending(state, step.outcome)) continue;
    if (step.is === 'due') due.push(step);
    if (step.is === 'redelivery') redeliveries.push(step);
    apply(state, step);
    steps.push(step);
  }
  return steps;
}

function isPending(state: PartitionState, { receiver, revision, redelivery }: Outcome): boolean {
  const { queue, retries, redeliveries } = state.receiver(receiver);
  if (redelivery !== undefined) return redeliveries.has(redelivery);
  return queue.has(revision) || retries.has(revision);
}

function outcomeOf(
  receiver: string,
  revision: number,
  number: number,
  at: number,
  redelivery?: number,
): Outcome {
  const outcome = KINDS[number % KINDS.length] ?? 'failed';
  const time = START_MS + at * 60_000;
  return {
    id: `msg_${revision}`,
    receiver,
    subscriptionId: '1',
    organisationId: 2,
    revision,
    outcome,
    at: new Date(time).toISOString(),
    ...(outcome === 'dead' ? { deadLetter: { subject: 's', stateId: 1, attempts: number % 9 } } : {}),
    ...(outcome === 'cancelled' ? {} : { attempt: 1 + (number % 9), ms: number % 20_000 }),
    ...(outcome === 'failed' ? { next: new Date(time + number).toISOString() } : {}),
    ...(number % 4 === 0 ? { isTimeout: true } : {}),
    ...(outcome === 'failed' && number % 3 === 0 ? { subject: `s${number % 5}` } : {}),
    ...(redelivery === undefined ? {} : { redelivery, isManual: true }),
  };
}

const NUMBERS = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 300 });

describe('The state of a partition', () => {
  it.each([
    ['with all queues in memory', undefined],
    ['with parts of long queues left for later', { partition: 6, receiver: 2 }],
  ])('from a snapshot and what followed it equals the fold of everything, %s', (_, limits) => {
    fc.assert(
      fc.property(NUMBERS, fc.nat(300), (numbers, cut) => {
        const whole = new PartitionState(limits);
        const steps = historyOf(numbers, whole);
        const before = new PartitionState(limits);
        for (const step of steps.slice(0, cut)) apply(before, step);
        const parts = JSON.parse(JSON.stringify(savePartition(before))) as ReturnType<typeof savePartition>;
        const restored = new PartitionState(limits);
        restorePartition(restored, parts);
        // The next owner reads the partition's own stream first, and what was matched afterwards.
        const rest = steps.slice(cut);
        for (const step of rest) if (step.is === 'outcome') apply(restored, step);
        for (const step of rest) if (step.is !== 'outcome') apply(restored, step);
        const matched = steps.filter((step) => step.is !== 'outcome');
        expect(contentOf(restored, matched)).toEqual(contentOf(whole, matched));
        expect(restored.deadLetters).toEqual(whole.deadLetters);
        expect(restored.matchedUpTo).toBe(whole.matchedUpTo);
      }),
      { numRuns: cases(2000) },
    );
  });

  it('takes events that it has taken before only once', () => {
    const state = new PartitionState();
    for (const revision of [0, 1, 1, 0, 2]) state.due('a', revision);
    state.redeliver('a', 3, 0);
    state.redeliver('a', 3, 0);
    expect([[...state.receiver('a').queue], [...state.receiver('a').redeliveries]]).toEqual([
      [0, 1, 2],
      [[3, 0]],
    ]);
  });

  it('leaves messages of a long queue for later, and takes them when they have been read again', () => {
    const state = new PartitionState({ partition: 4, receiver: 2 });
    for (let revision = 0; revision < 10; revision += 1) state.due(revision % 2 === 0 ? 'a' : 'b', revision);
    expect([...state.receiver('a').queue, ...state.receiver('b').queue]).toEqual([0, 2, 1, 3]);
    expect([...state.short()]).toEqual([]);
    state.settle(outcomeOf('a', 0, 0, 0));
    expect([...state.short()]).toEqual([{ receiver: 'a', unreadFrom: 4 }]);
    state.refill('a', [4, 6, 8], undefined);
    expect([...state.receiver('a').queue]).toEqual([2, 4, 6, 8]);
  });

  it('fits into snapshots of limited size, however much is due', () => {
    const state = new PartitionState();
    for (let revision = 0; revision < 120_000; revision += 1) state.due(`r${revision % 7}`, 3 * revision);
    for (let revision = 0; revision < 60_000; revision += 1)
      state.settle({
        ...outcomeOf(`r${revision % 7}`, 3 * revision, 1, revision),
        subject: `subject ${revision}`,
      });
    for (let revision = 0; revision < 6_000; revision += 1)
      state.settle({ ...outcomeOf('r8', 3 * revision, 3, revision), error: 'the last one' });
    const parts = savePartition(state);
    expect(parts.filter(({ deadLetters }) => deadLetters !== undefined).length).toBeGreaterThan(1);
    expect(parts.length).toBeGreaterThan(5);
    for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(900_000);
    const restored = new PartitionState();
    restorePartition(restored, parts);
    expect(contentOf(restored, [])).toEqual(contentOf(state, []));
    expect(restored.deadLetters).toEqual(state.deadLetters);
  });
});

it('PartitionSaved is read as it was first stored, and is still stored so', () => {
  const { stream, event } = golden<{ readonly type: 'PartitionSaved'; readonly data: SavedPart }>(
    'PartitionSaved',
  );
  expect(stream).toBe(partitionStream(7));
  const state = new PartitionState();
  restorePartition(state, [event.data]);
  expect(state.matchedUpTo).toBe(512);
  const receiver = state.receiver('0123456789abcdef');
  expect([...receiver.queue]).toEqual([112, 115, 400]);
  expect([...receiver.settled]).toEqual([113]);
  expect([...receiver.redeliveries]).toEqual([[130, 12]]);
  expect([...receiver.retries]).toEqual([
    [90, { attempt: 2, next: Date.parse('2026-03-01T12:05:00Z'), subject: 'd0' }],
    [101, { attempt: 1, next: Date.parse('2026-03-01T12:00:05Z') }],
  ]);
  expect(receiver.unreadFrom).toBe(9000);
  expect(receiver.health).toEqual(event.data.receivers[0]?.health);
  expect(savePartition(state)).toEqual([event.data]);
});

it('a dead letter that is not recorded yet is in snapshots, and follows from its outcome, as both were first stored', () => {
  const { event: recorded } = golden('MessageDeadLettered');
  const { event: saved } = golden('PartitionSaved-dead');
  const restored = new PartitionState();
  restorePartition(restored, [saved.data as SavedPart]);
  expect([...restored.deadLetters.values()]).toEqual([recorded.data]);
  expect(savePartition(restored)).toEqual([saved.data]);
  const state = new PartitionState();
  state.settle(golden('MessageAttempted-dead').event.data as Outcome);
  expect([...state.deadLetters.values()]).toEqual([recorded.data]);
});

it('ProbeDue is taken as it was first stored, whenever the outcomes are read (decisions N7)', () => {
  const { stream, event } = golden<Extract<MatchedEvent, { readonly type: 'ProbeDue' }>>('ProbeDue');
  expect(stream).toBe('matched');
  const at = Date.parse(event.data.at);
  const restOf = (since: number): number | undefined => {
    const state = new PartitionState();
    const { receiver } = event.data;
    const rest = { until: since + 60_000, ms: 60_000 };
    state.receiver(receiver).health = { timeouts: 5, minutes: [], rest };
    const recorded = { ...event, data: JSON.stringify(event.data), revision: 3 } as RecordedEvent;
    expect(receiverIn(recorded)).toBe(receiver);
    expect([takeMatched(state, receiver, recorded), takeMatched(state, receiver, recorded)]).toEqual([
      true,
      false,
    ]);
    expect(state.matchedUpTo).toBe(3);
    return state.receiver(receiver).health.rest?.until;
  };
  // It ends a rest that it finds, not one that began after it, with the probe.
  expect([restOf(at - 1_000), restOf(at + 1_000)]).toEqual([at, at + 61_000]);
});

it('RedeliveriesWithdrawn is taken as it was first stored: redeliveries before it are not made (decisions N17)', () => {
  const { event } =
    golden<Extract<MatchedEvent, { readonly type: 'RedeliveriesWithdrawn' }>>('RedeliveriesWithdrawn');
  const { receiver } = event.data;
  const state = new PartitionState();
  state.due(receiver, 0);
  state.redeliver(receiver, 1, 0);
  const recorded = { ...event, data: JSON.stringify(event.data), revision: 2 } as RecordedEvent;
  expect(receiverIn(recorded)).toBe(receiver);
  expect([takeMatched(state, receiver, recorded), takeMatched(state, receiver, recorded)]).toEqual([
    true,
    false,
  ]);
  state.redeliver(receiver, 3, 0);
  expect([...state.receiver(receiver).redeliveries]).toEqual([[3, 0]]);
  expect([...state.receiver(receiver).queue]).toEqual([0]);
});

it.each([
  ['MessageAttempted', { outcome: 'failed', attempt: 1, next: '2026-03-01T12:00:05.000Z' }],
  ['MessageAttempted-manual', { outcome: 'delivered', isManual: true }],
] as const)('%s is settled as it was first stored', (sample, expected) => {
  const { event } = golden(sample);
  const outcome = event.data as Outcome;
  expect(outcome).toMatchObject(expected);
  const state = new PartitionState();
  state.settle(outcome);
  const retry = state.receiver(outcome.receiver).retries.get(outcome.revision);
  expect(retry).toEqual(
    outcome.outcome === 'failed' ? { attempt: 1, next: Date.parse('2026-03-01T12:00:05Z') } : undefined,
  );
});
