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

/** Its tokens were never shown, and it is not whole: nobody can use it. */
class IncompleteDemo extends Error {
  override readonly name = 'IncompleteDemo';
}

/**
 * Fills an empty log with the demonstration; returns what to show of it, nothing if there was something in it. Raises
 * `IncompleteDemo` when an earlier start was ended while it did so.
 */
export async function createDemo(log: EventLog, dataDir: string): Promise<DemoLines> {
  const underWay = join(dataDir, 'demo-under-way');
  if ((await log.head()) !== START) {
    const isWhole = await access(underWay).then(
      () => false,
      () => true,
    );
    if (isWhole) return () => [];
    throw new IncompleteDemo(
      'the demonstration was not finished when it was created: remove the data folder and start again',
    );
  }
  await writeFile(underWay, '');
  const shown = await fillWithDemo(log, dataDir);
  await rm(underWay);
  return shown;
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
          if (faults[0] !== undefined)
            throw new Error(`a product of the demonstration was refused: ${faults[0].message}`);
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
