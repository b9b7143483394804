import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { callsOver, type Remote, serveCalls } from '../../src/kernel/calls';

const METHODS = {
  double: (n: number) => 2 * n,
  unsendable: () => ({ compare: () => 0 }),
  failsUnsendably: () => {
    throw Object.assign(new RangeError('out of range'), { retry: () => undefined });
  },
  take: (value: unknown) => typeof value,
};

let ports: { readonly port1: MessagePort; readonly port2: MessagePort };
let calls: Remote<typeof METHODS>;
beforeEach(() => {
  ports = new MessageChannel();
  serveCalls(ports.port2, METHODS);
  calls = callsOver<typeof METHODS>(ports.port1);
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

  test('whose arguments cannot be cloned fails, and leaves nothing pending', async () => {
    await expect(calls.take(() => 0)).rejects.toThrow(/could not be cloned/);
    expect((ports.port1 as MessagePort & { hasRef(): boolean }).hasRef()).toBe(false);
    expect(await calls.double(4)).toBe(8);
  });
});
