import fc from 'fast-check';
import { FairBudget } from '../../src/runtime/fair-queue';

it('leaves as much free as the client that takes has then (decisions X100)', () => {
  const budget = new FairBudget(100);
  expect([budget.most, budget.take('a', 51), budget.take('a', 50), budget.take('a', 1)]).toEqual([
    50,
    false,
    true,
    false,
  ]);
  expect([budget.take('b', 26), budget.take('b', 25), budget.take('c', 12), budget.take('b', 1)]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  budget.give('a', 50);
  expect([budget.take('b', 15), budget.take('a', 24), budget.take('a', 1)]).toEqual([true, true, false]);
});

it('never runs out: whatever others take, one that has nothing can take half of what is left (decisions X100)', () => {
  const step = fc.record({
    client: fc.constantFrom('a', 'b', 'c', 'd'),
    amount: fc.integer({ min: 1, max: 600 }),
    gives: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const budget = new FairBudget(1_000);
      const taken: { client: string; amount: number }[] = [];
      const used = (): number => taken.reduce((sum, { amount }) => sum + amount, 0);
      for (const { client, amount, gives } of steps) {
        if (gives) for (const one of taken.splice(0, 1)) budget.give(one.client, one.amount);
        else if (budget.take(client, amount)) taken.push({ client, amount });
        expect(used()).toBeLessThan(1_000);
        const left = Math.floor((1_000 - used()) / 2);
        expect(budget.take('new', left)).toBe(true);
        expect(budget.take('new', 2)).toBe(false);
        budget.give('new', left);
      }
      for (const { client, amount } of taken) budget.give(client, amount);
      expect(budget.take('a', 500)).toBe(true);
    }),
  );
});

it('gives all that is free to one that may have it, and tells whether there is room once others give some back (decisions X52)', () => {
  const budget = new FairBudget(100);
  expect([budget.takeFree('a', 101), budget.takeFree('a', 60), budget.takeFree('a', 30)]).toEqual([
    false,
    true,
    true,
  ]);
  expect([budget.take('a', 1), budget.hasRoom('b', 6), budget.hasRoom('b', 5)]).toEqual([false, false, true]);
  expect([budget.hasRoom('b', 50, 90), budget.hasRoom('b', 51, 90), budget.hasRoom('a', 1, 90)]).toEqual([
    true,
    false,
    true,
  ]);
  budget.give('a', 90);
  expect(budget.take('b', 50)).toBe(true);
});
