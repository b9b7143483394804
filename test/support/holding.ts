type Calls<Name extends string> = { [Key in Name]: (...args: never[]) => Promise<unknown> };

/** A call that waits. */
export interface HeldCall {
  /** Resolves when the call has been made. */
  readonly reached: Promise<void>;
  /** Lets it go on; with an error, it fails, and so do those after it until they are let go on. */
  readonly release: (error?: Error) => void;
}

/**
 * Holds one call of a method, the n-th (from 1) of those that are meant: what stands between two steps can then be
 * looked at. All calls are the object's own, and after the release it is as it was.
 */
export function holdCall<Name extends string, Target extends Calls<Name>>(
  target: Target,
  name: Name,
  nth: number,
  isMeant: (...args: Parameters<Target[Name]>) => boolean = () => true,
): HeldCall {
  const own = target[name];
  let calls = 0;
  let reach: () => void;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  let release: HeldCall['release'];
  const released = new Promise<void>((resolve, reject) => {
    release = (error) => {
      if (error !== undefined) return reject(error);
      target[name] = own;
      resolve();
    };
  });
  const held = async (...args: Parameters<Target[Name]>): Promise<unknown> => {
    if (isMeant(...args) && (calls += 1) >= nth) {
      reach();
      await released;
    }
    return await own.apply(target, args);
  };
  target[name] = held as Target[Name];
  return { reached, release: (error) => release(error) };
}
