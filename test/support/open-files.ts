import { readdirSync, readlinkSync } from 'node:fs';

/** Targets of this process's open descriptors in a folder; removed files end with ` (deleted)`. Linux only. */
export function openFilesIn(folder: string): readonly string[] {
  return readdirSync('/proc/self/fd')
    .map((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`);
      } catch {
        // The descriptor used for listing the folder is already closed.
        return '';
      }
    })
    .filter((path) => path.startsWith(folder));
}
