import { Backoff } from '../../runtime/backoff';

const BACKOFF = { first: 100, longest: 5_000 } as const;

/** Repeats what an unavailable log refuses, unless it is not wanted any more: then undefined. */
export async function untilDone<Result>(
  work: () => Promise<Result>,
  isUnwanted: () => boolean,
  report: (failure: unknown) => void,
): Promise<Result | undefined> {
  const backoff = new Backoff(BACKOFF);
  while (!isUnwanted()) {
    try {
      return await work();
    } catch (error) {
      if (isUnwanted()) return undefined;
      report(error);
      await backoff.wait();
    }
  }
  return undefined;
}
