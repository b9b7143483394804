import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DemoLines, runDemo } from './run';
import { followDirectory } from '../directory/follower';
import { START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { importNetwork, type NewToken } from '../ops/import-network';
import { checkVoucher } from '../vouchers/voucher-check';
import { Vouchers } from '../vouchers/vouchers';
import { makeLoader } from '../host/loader';

/** The demo is incomplete and its tokens were never printed, so it is useless. */
class IncompleteDemo extends Error {
  override readonly name = 'IncompleteDemo';
}

/**
 * Fills an empty log with the demo network and returns the lines to print; none if the log is not empty. Raises
 * `IncompleteDemo` if an earlier start was interrupted.
 */
export async function createDemo(log: EventLog, dataDir: string): Promise<DemoLines> {
  const marker = join(dataDir, 'demo-under-way');
  if ((await log.head()) !== START) {
    const isComplete = await access(marker).then(
      () => false,
      () => true,
    );
    if (isComplete) return () => [];
    throw new IncompleteDemo(
      'creating the demo network was interrupted: remove the data folder and start again',
    );
  }
  await writeFile(marker, '');
  const lines = await fillWithDemo(log, dataDir);
  await rm(marker);
  return lines;
}

async function fillWithDemo(log: EventLog, dataDir: string): Promise<DemoLines> {
  const ending = new AbortController();
  const follower = followDirectory(log, ending.signal);
  let at = new Date();
  const loader = makeLoader(log, follower, dataDir, { now: () => at });
  const vouchers = new Vouchers(log);
  try {
    return await runDemo(
      {
        isEmpty: async () => (await log.head()) === START,
        importNetwork: async (file, time) => {
          const tokens: NewToken[] = [];
          await importNetwork(log, file, { at: time.toISOString(), onToken: (token) => tokens.push(token) });
          return tokens;
        },
        load: async (feedId, body, time) => {
          at = time;
          const directoryPosition = await log.head();
          const id = await loader.open({ feedId, mode: 'update', format: 'json', directoryPosition });
          await loader.write(id, Buffer.from(body));
          const { faults } = await loader.finish(id);
          if (faults[0] !== undefined) throw new Error(`a demo product was refused: ${faults[0].message}`);
        },
        postVoucher: async (organisationId, posted, time) => {
          await follower.reached(await log.head());
          const { directory } = follower;
          const post = checkVoucher(posted, { directory, caller: { organisationId }, now: time });
          await vouchers.post(post, time.toISOString());
        },
      },
      new Date(),
    );
  } finally {
    await loader.close();
    ending.abort();
    await follower.ended;
  }
}
