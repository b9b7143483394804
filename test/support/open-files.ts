import { readdirSync, readlinkSync } from 'node:fs';

/** The files of a folder that this process has open; removed ones end in ` (deleted)`. Linux only. */
export function openFilesIn(folder: string): readonly string[] {
  return readdirSync('/proc/self/fd')
    .map((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`);
      } catch {
        // The descriptor used for the listing itself is closed by now.
        return '';
      }
    })
    .filter((path) => path.startsWith(folder));
}
