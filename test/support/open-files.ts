import { readdirSync, readlinkSync } from 'node:fs';

/** What the open descriptors of this process in a folder refer to; removed files end in ` (deleted)`. Linux only. */
export function openFilesIn(folder: string): readonly string[] {
  return readdirSync('/proc/self/fd')
    .map((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`);
      } catch {
        // The descriptor that the folder was listed with is closed by now.
        return '';
      }
    })
    .filter((path) => path.startsWith(folder));
}
