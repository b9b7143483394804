import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { Refusal } from '../../src/kernel/fault';
import { callsOver, type Remote, serveCalls } from '../../src/runtime/calls';

class TooLate extends Refusal {}

const METHODS = {
  refuse: () => {
    throw new TooLate('it is too late');
  },
  double: (n: number) => 2 * n,
  unsendable: () => ({ compare: () => 0 }),
  failsUnsendably: () => {
    throw Object.assign(new RangeError('out of range'), { retry: () => undefined });
  },
  take: (value: unknown) => typeof value,
  /** Reports numbers up to one, each when the one before has been taken. */
  count: async (to: number, report: (n: number) => Promise<void>, signal: AbortSignal) => {
    for (let n = 1; n <= to; n += 1) {
      signal.throwIfAborted();
      await report(n);
    }
    return to;
  },
  /** Reports once the port has closed, and remembers why that failed. */
  reportLate: async (report: () => Promise<void>) => {
    await once(ports.port2, 'close');
    await turn();
    lateReport.resolve(await report().catch((error: unknown) => error));
  },
};

/** What became of the report after the end. */
let lateReport: { readonly promise: Promise<unknown>; readonly resolve: (failure: unknown) => void };

let ports: { readonly port1: MessagePort; readonly port2: MessagePort };
let calls: Remote<typeof METHODS>;
beforeEach(() => {
  ports = new MessageChannel();
  serveCalls(ports.port2, METHODS);
  calls = callsOver<typeof METHODS>(ports.port1);
  let resolve: (failure: unknown) => void = () => undefined;
  lateReport = { promise: new Promise((settle) => (resolve = settle)), resolve };
});
afterEach(() => ports.port1.close());

describe('a call between threads', () => {
  test('whose result cannot be cloned fails alone: the next one is answered', async () => {
    await expect(calls.unsendable()).rejects.toThrow(
      /^unsendable: the result cannot be sent .*could not be cloned/,
    );
    expect(await calls.double(4)).toBe(8);
  });

  test('whose error has uncloneable properties arrives with its message', async () => {
    await expect(calls.failsUnsendably()).rejects.toMatchObject({
      name: 'RangeError',
      message: 'out of range',
    });
    expect(await calls.double(4)).toBe(8);
  });

  test('that is refused arrives as a refusal, whose reason may be shown', async () => {
    const refused = await calls.refuse().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Refusal);
    expect(refused).toMatchObject({ name: 'TooLate', message: 'it is too late' });
  });

  test('whose arguments cannot be cloned fails, and leaves nothing pending', async () => {
    await expect(calls.take({ compare: () => 0 })).rejects.toThrow(/could not be cloned/);
    expect((ports.port1 as MessagePort & { hasRef(): boolean }).hasRef()).toBe(false);
    expect(await calls.double(4)).toBe(8);
  });

  test('reports its progress, waits until each report has been taken, and fails with a report', async () => {
    const signal = new AbortController().signal;
    const taken: number[] = [];
    let isTaking = false;
    const report = async (n: number): Promise<void> => {
      expect(isTaking).toBe(false);
      isTaking = true;
      await turn();
      isTaking = false;
      taken.push(n);
      if (n === 7) throw new EngineUnavailable('no room');
    };
    expect(await calls.count(3, report, signal)).toBe(3);
    expect(taken).toEqual([1, 2, 3]);
    await expect(calls.count(9, report, signal)).rejects.toThrow(new EngineUnavailable('no room'));
    expect(taken.at(-1)).toBe(7);
  });

  test('can be cancelled, also before it has begun', async () => {
    const cancelling = new AbortController();
    const reason = new EngineUnavailable('broken off');
    let last = 0;
    const report = async (n: number): Promise<void> => {
      last = n;
      if (n === 5) cancelling.abort(reason);
    };
    await expect(calls.count(1e9, report, cancelling.signal)).rejects.toThrow(reason);
    expect(last).toBeLessThan(10);
    await expect(calls.count(1e9, report, cancelling.signal)).rejects.toThrow(reason);
  });

  test('that reports fails when the port closes', async () => {
    const report = async (n: number): Promise<void> => {
      if (n === 3) ports.port1.close();
    };
    await expect(calls.count(1e9, report, new AbortController().signal)).rejects.toThrow(EngineUnavailable);
  });

  test('that reports after the port has closed fails too, and does not wait for ever', async () => {
    const call = calls.reportLate(async () => undefined);
    ports.port1.close();
    await expect(call).rejects.toThrow(EngineUnavailable);
    expect(await lateReport.promise).toBeInstanceOf(EngineUnavailable);
  });
});
