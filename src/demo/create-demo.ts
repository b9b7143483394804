import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Directory } from '../network/directory';
import { FollowedDirectory } from '../network/follower';
import { type Caller } from '../network/organisations';
import { makeLoader } from '../services/products/load/make-loader';
import { WaitForReadModels } from '../http/wait-for-read-models';
import { START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { importNetwork, type NewToken } from '../operations/import-network';
import { LoadProducts, LoadProductsHandler } from '../services/products/commands';
import { FeedRefusals } from '../domain/products/feed-imports';
import { VisibleWrites } from '../http/visible-writes';
import { PostVoucher, PostVoucherHandler } from '../services/vouchers/commands';
import { VoucherWriter } from '../domain/vouchers/voucher-writer';
import { ClaimCommands } from './claim-commands';
import { demoClaims } from './claims';
import { FEEDS } from './feeds';
import { type PostedProduct } from './products';
import { type DemoLines, demoLines } from './lines';
import { demoNetwork } from './network';
import { DAY, demoFeed, demoPriceChanges, FIRST_POSTED } from './products';
import { TransactionCommands } from './transaction-commands';
import { demoTransactions } from './transactions';
import { demoVouchers } from './vouchers';

/** The demo is incomplete and its tokens were never printed, so it is useless. */
class IncompleteDemo extends Error {
  override readonly name = 'IncompleteDemo';
}

/**
 * Fills an empty log with the demo network and returns the lines to print; none if the log is not empty. `show` receives what it
 * does, with the share that is done. Raises `IncompleteDemo` if an earlier start was interrupted.
 */
export async function createDemo(
  log: EventLog,
  dataDir: string,
  show: (step: string) => void = () => undefined,
): Promise<DemoLines> {
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
  const lines = await fillWithDemo(log, dataDir, show);
  await rm(marker);
  return lines;
}

/** Posts the network, its products, a year of price changes, transactions, claims and vouchers, each as of its time. */
async function fillWithDemo(
  log: EventLog,
  dataDir: string,
  show: (step: string) => void,
): Promise<DemoLines> {
  const ending = new AbortController();
  const follower = new FollowedDirectory(log, ending.signal);
  let present = new Date();
  const now = (): Date => present;
  const loader = makeLoader(log, follower, dataDir, { now });
  // There are no read models yet to wait for.
  const readModels = new WaitForReadModels(async () => true);
  const load = new LoadProductsHandler(loader, new FeedRefusals(log, now), follower, readModels);
  const visible = new VisibleWrites(log, readModels);
  const postVoucher = new PostVoucherHandler(new VoucherWriter(log), visible, follower, { now });
  const post = async (feedId: number, products: readonly PostedProduct[], at: Date): Promise<void> => {
    present = at;
    const caller = ownerOf(feedId, follower.directory);
    const body = jsonBody(JSON.stringify({ products }));
    const { faults } = await load.execute(new LoadProducts(feedId, caller, 'update', body));
    if (faults[0] !== undefined) throw new Error(`a demo product was refused: ${faults[0].message}`);
  };
  try {
    const started = present;
    const firstPosted = new Date(started.getTime() - FIRST_POSTED * DAY);
    const tokens: NewToken[] = [];
    const onToken = (token: NewToken): number => tokens.push(token);
    show('the demo network is being created');
    const { position } = await importNetwork(log, demoNetwork(), { at: firstPosted.toISOString(), onToken });
    await follower.reached(position);
    const parts = { follower, visible, clock: { now }, setTime: (at: Date) => (present = at) };
    const steps = [
      ...FEEDS.map(({ id }) => ({ at: firstPosted, run: () => post(id, demoFeed(id), firstPosted) })),
      ...demoPriceChanges(started).map(({ feedId, at, products }) => ({
        at,
        run: () => post(feedId, products, at),
      })),
      ...demoTransactions(started, new TransactionCommands(log, parts)),
      ...demoClaims(started, new ClaimCommands(log, parts)),
    ];
    const ordered = steps.sort((one, other) => one.at.getTime() - other.at.getTime());
    const vouchers = demoVouchers(started).map(({ organisationId, posted }) => ({
      run: async () => {
        present = started;
        await postVoucher.execute(new PostVoucher(posted, organisationId));
      },
    }));
    const all = [...ordered, ...vouchers];
    for (const [done, { run }] of all.entries()) {
      await run();
      show(
        `the demo network is being created: ${Math.floor((100 * (done + 1)) / all.length)} % of its history`,
      );
    }
    return demoLines(tokens);
  } finally {
    await loader.close();
    ending.abort();
    await follower.ended;
  }
}

/** The advertiser that a feed belongs to, as the caller of a post. */
function ownerOf(feedId: number, directory: Directory): Caller {
  const programId = directory.feed(feedId)?.programIds[0] ?? NaN;
  const organisationId = directory.program(programId)?.organisationId ?? NaN;
  return { tokenHash: '', organisationId, kind: 'advertiser', system: 'PRODUCTS' };
}

function jsonBody(text: string): LoadProducts['body'] {
  return {
    format: () => 'json' as const,
    chunks: async function* () {
      yield Buffer.from(text);
    },
  };
}
