import { readFileSync, writeFileSync } from 'node:fs';

/** What the system takes as a reset of the peak. */
const RESET_PEAK = '5';

/** Resident memory of a process in MB: now, or its peak. */
export function memoryOf(pid: number, which: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
}

/** Returns a function for the growth, from now on, of peak resident memory in MB. */
export function memoryGrowth(pid: number): () => number {
  const before = memoryOf(pid, 'VmRSS');
  writeFileSync(`/proc/${pid}/clear_refs`, RESET_PEAK);
  return () => memoryOf(pid, 'VmHWM') - before;
}
