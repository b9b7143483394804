import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../../src/kernel/event';
import { EngineUnavailable } from '../../../src/kernel/event-log';
import { toNewEvent } from '../../../src/kernel/decider';
import { Sequence } from '../../../src/domain/keys/reservation';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { golden } from '../../support/golden';
import { eventsOf, overrideLog, withLog } from '../../support/temporary-log';

const several = (count: number, sequence: Sequence) =>
  Promise.all(Array.from({ length: count }, () => sequence.next()));

describe('a sequence', () => {
  it('returns integers from 1, each once, in ascending order', () =>
    withLog(async (log) => {
      const ids = await several(250, new Sequence(SYSTEM_CLOCK, log, 'claim'));
      expect(ids).toEqual(Array.from({ length: 250 }, (_, at) => at + 1));
      expect(await eventsOf(log)).toHaveLength(3);
    }));

  it('returns no integer twice to concurrent processes', () =>
    withLog(async (log) => {
      const processes = Array.from({ length: 4 }, () => new Sequence(SYSTEM_CLOCK, log, 'claim'));
      const ids = (await Promise.all(processes.map((one) => several(150, one)))).flat();
      expect(new Set(ids).size).toBe(600);
    }));

  it('continues after the blocks allotted before', () =>
    withLog(async (log) => {
      await new Sequence(SYSTEM_CLOCK, log, 'claim').next();
      expect(await new Sequence(SYSTEM_CLOCK, log, 'claim').next()).toBe(101);
      expect(await new Sequence(SYSTEM_CLOCK, log, 'voucher').next()).toBe(1);
    }));

  it('continues after a block in the stored format (test/golden)', () =>
    withLog(async (log) => {
      const { stream, event } = golden('IdsAllotted');
      await log.append(stream, NO_STREAM, [toNewEvent(event, randomUUID())]);
      expect(await new Sequence(SYSTEM_CLOCK, log, 'voucher').next()).toBe(101);
    }));

  it('can be retried after the log was unavailable', () =>
    withLog(async (log) => {
      let isDown = true;
      const down = overrideLog(log, {
        append: (stream, expected, events) =>
          isDown ? Promise.reject(new EngineUnavailable('down')) : log.append(stream, expected, events),
      });
      const sequence = new Sequence(SYSTEM_CLOCK, down, 'claim');
      await expect(sequence.next()).rejects.toThrow(EngineUnavailable);
      isDown = false;
      expect(await sequence.next()).toBe(1);
    }));
});
