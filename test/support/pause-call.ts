import { type Exporter } from '../../src/services/products/download/exporter';

type Calls<Name extends string> = { [Key in Name]: (...args: never[]) => Promise<unknown> };

/** A paused call. */
export interface PausedCall {
  /** Resolves when the call is made. */
  readonly reached: Promise<void>;
  /**
   * Continues the call. With an error, it fails, and so do all further matching calls until `release` is called without
   * one.
   */
  readonly release: (error?: Error) => void;
}

/**
 * Pauses the n-th (from 1) matching call of a method, so that a test can examine the state between two steps. The real
 * method runs in any case, and is restored after the release.
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
  const paused = async (...args: Parameters<Target[Name]>): Promise<unknown> => {
    if (isMatch(...args) && (calls += 1) >= nth) {
      reach();
      if (calls === nth) await released;
      if (failure !== undefined) throw failure;
    }
    return await own.apply(target, args);
  };
  target[name] = paused as Target[Name];
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
 * Pauses the rendering of a download at the n-th progress report (from 1). The first one follows the creation of the
 * file, each other one a block.
 */
export function pauseRendering(exporter: Exporter, nth: number): PausedCall {
  const reporter = { report: (): Promise<void> => Promise.resolve() };
  const paused = pauseCall(reporter, 'report', nth);
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
    reached: paused.reached,
    release: (error) => {
      if (error === undefined) exporter.render = render;
      paused.release(error);
    },
  };
}
