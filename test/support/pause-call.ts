type Calls<Name extends string> = { [Key in Name]: (...args: never[]) => Promise<unknown> };

/** A call that waits. */
export interface PausedCall {
  /** Resolves when the call has been made. */
  readonly reached: Promise<void>;
  /** Lets it go on; with an error, it fails, and so do all that are meant, until it is called without. */
  readonly release: (error?: Error) => void;
}

/**
 * Holds one call of a method, the n-th (from 1) of those that are meant: what stands between two steps can then be
 * looked at. All calls are the object's own, and after the release it is as it was.
 */
export function pauseCall<Name extends string, Target extends Calls<Name>>(
  target: Target,
  name: Name,
  nth: number,
  isMeant: (...args: Parameters<Target[Name]>) => boolean = () => true,
): PausedCall {
  const own = target[name];
  let calls = 0;
  let failure: Error | undefined;
  let reach: () => void;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  let go: () => void;
  const released = new Promise<void>((resolve) => (go = resolve));
  const held = async (...args: Parameters<Target[Name]>): Promise<unknown> => {
    if (isMeant(...args) && (calls += 1) >= nth) {
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
