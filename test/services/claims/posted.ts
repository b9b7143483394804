import { Fault, Faults } from '../../../src/kernel/fault';

/** A claim that is taken in `smallNetwork`; a field that is undefined is not posted. */
export function claim(changes: object = {}): Record<string, unknown> {
  return {
    affiliateSiteId: 52,
    programId: 31,
    timeStampEvent: '2026-01-04',
    eventId: 17,
    orderNumber: 'A-1',
    orderValue: 100,
    expectedCommission: 7.5,
    ...changes,
  };
}

/** What is refused: each fault with its code, and the status of the answer. */
export function refusalOf(run: () => unknown): {
  readonly status: number;
  readonly faults: readonly string[];
} {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Fault || error instanceof Faults)) throw error;
    const faults = error instanceof Faults ? error.faults : [error];
    return { status: error.status, faults: faults.map(({ code, message }) => `${code} ${message}`) };
  }
  throw new Error('nothing was refused');
}
