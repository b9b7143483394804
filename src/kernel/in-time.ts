import { EngineUnavailable } from './event-log';

/** What comes of `work`; raises `late()` after so long (ms): nobody waits for it then, however it ends. */
export async function inTime<Result>(
  work: Promise<Result>,
  milliseconds: number,
  late: () => Error,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const lapse = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([work, lapse]);
  } finally {
    clearTimeout(timer);
  }
}

/** What an engine answers; raises `EngineUnavailable` after so long (ms). `engine`: "the read store". */
export function answerInTime<Answer>(
  engine: string,
  answer: Promise<Answer>,
  milliseconds: number,
): Promise<Answer> {
  return inTime(
    answer,
    milliseconds,
    () => new EngineUnavailable(`${engine} is not available: it does not answer in time`),
  );
}
