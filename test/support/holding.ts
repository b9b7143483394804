import { type Exporter } from '../../src/products/download/exporter';

type Calls<Name extends string> = { [Key in Name]: (...args: never[]) => Promise<unknown> };

/** A call that waits. */
export interface HeldCall {
  /** Resolves when the call has been made. */
  readonly reached: Promise<void>;
  /** Lets it go on; with an error, it fails, and so do all that are meant, until it is called without. */
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

/**
 * Holds the rendering of a download: at the n-th report (from 1) of what has been written. The first one comes when the
 * file has been made, each other one after a block.
 */
export function holdRendering(exporter: Exporter, nth: number): HeldCall {
  const reporter = { report: (): Promise<void> => Promise.resolve() };
  const held = holdCall(reporter, 'report', nth);
  const render = exporter.render.bind(exporter);
  exporter.render = (request, path, report, signal) =>
    render(
      request,
      path,
      async (progress) => {
        await reporter.report();
        await report(progress);
      },
      signal,
    );
  return {
    reached: held.reached,
    release: (error) => {
      if (error === undefined) exporter.render = render;
      held.release(error);
    },
  };
}
