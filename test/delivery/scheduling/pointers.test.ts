import fc from 'fast-check';
import { Pointers } from '../../../src/delivery/scheduling/receiver-state';
import { Timers } from '../../../src/delivery/scheduling/scheduler';
import { decodeIntegers, encodeIntegers } from '../../../src/delivery/scheduling/partition-state';
import { cases } from '../../support/size';

describe('Pointers', () => {
  it('are a sorted set, whatever is added and removed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(400)), { maxLength: 600 }), (operations) => {
        const pointers = new Pointers();
        const model = new Set<number>();
        let last = -1;
        for (const [adds, number] of operations) {
          if (adds) {
            last += 1 + (number % 3);
            pointers.add(last);
            model.add(last);
          } else expect(pointers.delete(number)).toBe(model.delete(number));
          const all = [...model].sort((a, b) => a - b);
          expect(pointers.size).toBe(all.length);
          expect(pointers.after(number)).toBe(all.find((one) => one > number));
          expect(pointers.has(number)).toBe(model.has(number));
        }
        expect([...pointers]).toEqual([...model].sort((a, b) => a - b));
      }),
      { numRuns: cases(500, 50) },
    );
  });
});

describe('Timers', () => {
  it('return what is due in the order of time', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000)), fc.nat(1000), (times, now) => {
        const timers = new Timers<number>();
        for (const time of times) timers.add(time, time);
        const due: number[] = [];
        for (let one = timers.takeDue(now); one !== undefined; one = timers.takeDue(now)) due.push(one);
        expect(due).toEqual(times.filter((time) => time <= now).sort((a, b) => a - b));
        const later = times.filter((time) => time > now);
        expect(timers.next).toBe(later.length === 0 ? undefined : Math.min(...later));
      }),
      { numRuns: cases(500) },
    );
  });
});

describe('Integers in base64', () => {
  it('are decoded as what they were', () => {
    fc.assert(
      fc.property(fc.array(fc.maxSafeNat()), (integers) => {
        expect(decodeIntegers(encodeIntegers(integers))).toEqual(integers);
      }),
    );
  });
});
