import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** How many threads of a process give way to others (Linux; elsewhere 0). */
export function threadsGivingWay(pid: number): number {
  if (process.platform !== 'linux') return 0;
  const tasks = `/proc/${pid}/task`;
  const niceness = (task: string): number =>
    Number(
      readFileSync(`${tasks}/${task}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[16],
    );
  return readdirSync(tasks).filter((task) => niceness(task) >= constants.priority.PRIORITY_BELOW_NORMAL)
    .length;
}
