import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/** Threads inherit what has this name from the thread that starts them. */
const NAME = 'affilog: calls of the SQLite driver';

/** Indexes: how many threads are in a call; 1 once the process exits. */
const RUNNING = 0;
const EXITING = 1;

/** How long (ms) a process that exits waits: those who stop it kill it soon. */
const EXIT_MS = 1_000;

const calls = callsOfProcess();

function callsOfProcess(): Int32Array {
  const inherited = getEnvironmentData(NAME) as SharedArrayBuffer | undefined;
  if (inherited !== undefined) return new Int32Array(inherited);
  const buffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(NAME, buffer);
  const created = new Int32Array(buffer);
  if (isMainThread) process.on('exit', () => untilNoneIsIn(created));
  return created;
}

/** Whether this thread is in a call. */
let isCalling = false;

/**
 * Runs `work`, which calls the driver. A thread that is terminated in such a call aborts the process: the driver throws
 * a C++ exception that nobody catches. Since a process that exits terminates its threads, its main thread first waits
 * until none of them is in a call; from then on, a thread that begins one stops here.
 */
export function callDriver<Result>(work: () => Result): Result {
  if (isCalling) return work();
  Atomics.add(calls, RUNNING, 1);
  isCalling = true;
  try {
    if (isExiting() && !isMainThread) {
      leave();
      // Until the thread is terminated.
      Atomics.wait(calls, EXITING, 1);
    }
    return work();
  } finally {
    leave();
  }
}

function isExiting(): boolean {
  return Atomics.load(calls, EXITING) === 1;
}

function leave(): void {
  isCalling = false;
  Atomics.sub(calls, RUNNING, 1);
  if (isExiting()) Atomics.notify(calls, RUNNING);
}

function untilNoneIsIn(all: Int32Array): void {
  Atomics.store(all, EXITING, 1);
  for (const end = performance.now() + EXIT_MS; performance.now() < end;) {
    const running = Atomics.load(all, RUNNING);
    if (running === 0) return;
    Atomics.wait(all, RUNNING, running, Math.max(0, end - performance.now()));
  }
}
