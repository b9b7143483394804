import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DIST } from '../../support/built';

const NOW = Date.UTC(2026, 10, 6, 8, 0, 0);
const MINUTE = 60_000;

/** In ms from `NOW`, as a process in a time zone reads them. */
async function readIn(zone: string, values: readonly string[]): Promise<readonly (number | null)[]> {
  const script = `
    const { retryAfterOf } = require(${JSON.stringify(join(DIST, 'src/delivery/sending/attempt.js'))});
    const read = (value) => retryAfterOf(503, { 'retry-after': value }, ${NOW}) ?? null;
    console.log(JSON.stringify(${JSON.stringify(values)}.map(read)));`;
  const env = { ...process.env, TZ: zone };
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { env });
  return JSON.parse(stdout) as readonly (number | null)[];
}

/** Ten past eight, in UTC. */
const TIMES = [
  'Fri, 06 Nov 2026 08:10:00 GMT',
  'Friday, 06-Nov-26 08:10:00 GMT',
  'Fri Nov  6 08:10:00 2026',
  // Not of HTTP, but seen.
  'Fri, 06 Nov 2026 08:10:00',
  'Fri, 06 Nov 2026 08:10:00 UTC',
  'Fri, 06 Nov 2026 10:10:00 +0200',
  'Fri, 06 Nov 2026 03:10:00 EST',
  'Fri Nov  6 08:10:00 GMT 2026',
];

describe.each(['UTC', 'America/New_York', 'Asia/Kolkata', 'Pacific/Kiritimati'])(
  'Retry-After in a process in %s',
  (zone) => {
    it('is in UTC in each form that HTTP has of a time (decisions N3)', async () => {
      expect(await readIn(zone, TIMES)).toEqual(TIMES.map(() => 10 * MINUTE));
    });

    it('does not count if it is no time (decisions N3)', async () => {
      const values = ['Fri Nov 66 08:10:00 2026', '2026-11-06T08:10:00', 'Fri 08:10'];
      expect(await readIn(zone, values)).toEqual(values.map(() => null));
    });
  },
);
