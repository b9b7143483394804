type Calls<Name extends string> = { [Key in Name]: (...args: never[]) => Promise<unknown> };

/** A paused call. */
export interface PausedCall {
  /** Resolves when the call is made. */
  readonly reached: Promise<void>;
  /** Resumes the call. With an error, it and all later matching calls fail, until `release` is called without one. */
  readonly release: (error?: Error) => void;
}

/**
 * Pauses the n-th (from 1) matching call of a method, so that a test can inspect the state between two steps. Calls still run
 * the object's own method, which is restored by `release`.
 */
export function pauseCall<Name extends string, Target extends Calls<Name>>(
  target: Target,
  name: Name,
  nth: number,
  isMatch: (...args: Parameters<Target[Name]>) => boolean = () => true,
): PausedCall {
  const own = target[name];
  let calls = 0;
  let failure: Error | undefined;
  let reach: () => void;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  let go: () => void;
  const released = new Promise<void>((resolve) => (go = resolve));
  const held = async (...args: Parameters<Target[Name]>): Promise<unknown> => {
    if (isMatch(...args) && (calls += 1) >= nth) {
      reach();
      if (calls === nth) await released;
      if (failure !== undefined) throw failure;
    }
    return await own.apply(target, args);
  };
  target[name] = held as Target[Name];
  return {
    reached,
    release: (error) => {
      failure = error;
      if (error === undefined) target[name] = own;
      go();
    },
  };
}
