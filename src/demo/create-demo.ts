import { createHmac, randomBytes } from 'node:crypto';
import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FeedRefusals } from '../domain/products/feed';
import { VoucherWriter } from '../domain/vouchers/voucher';
import { VisibleWrites, WaitForReadModels } from '../http/visible-writes';
import { START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type Directory, directoryAt } from '../network/directory';
import { FollowedDirectory } from '../network/follower';
import { type Caller, tokenHash } from '../network/organisations';
import { importNetwork, type NewToken } from '../operations/import-network';
import { SystemClock } from '../runtime/clock';
import { type LoadCommand, ProductCommands } from '../services/products/commands';
import { makeLoader } from '../services/products/load/loader';
import { VoucherCommands } from '../services/vouchers/commands';
import { demoClaims } from './claims';
import { DAY, demoFeed, demoPriceChanges, FIRST_POSTED, type PostedProduct } from './products';
import { DEMO, demoNetwork, FEEDS } from './network';
import { demoSubscriptions } from './subscriptions';
import { demoTransactions } from './transactions';
import { CommandError } from '../operations/command-error';

interface DemoOptions {
  /** A secret that its tokens are made of, so that each start knows them; they are stored nowhere. */
  readonly key?: Uint8Array;
  /** `127.0.0.1:<port>`: there are subscriptions whose messages are sent to it. */
  readonly receiver?: string | undefined;
}

/**
 * Fills an empty log with the demo network. Returns its tokens that are valid: none if the log is of another network,
 * or was filled with another key. `show` receives what is done, with the share of it. Raises `CommandError` if an
 * earlier start was interrupted.
 */
export async function createDemo(
  log: EventLog,
  dataDir: string,
  show: (step: string) => void = () => undefined,
  { key = randomBytes(32), receiver }: DemoOptions = {},
): Promise<readonly NewToken[]> {
  const marker = join(dataDir, 'demo-under-way');
  const tokens = demoTokens(key);
  if ((await log.head()) !== START) {
    const isComplete = await access(marker).then(
      () => false,
      () => true,
    );
    if (!isComplete)
      throw new CommandError(
        'creating the demo network was interrupted: remove the data folder and start again',
      );
    const { organisations } = await directoryAt(log);
    return tokens.filter(({ token }) => organisations.callerOf(tokenHash(token)) !== undefined);
  }
  await writeFile(marker, '');
  await fillWithDemo(log, dataDir, tokens, show, receiver);
  await rm(marker);
  return tokens;
}

function demoTokens(key: Uint8Array): readonly NewToken[] {
  return demoNetwork().tokens.map((entry) => {
    const { organisationId, system, siteId = '' } = entry;
    const secret = createHmac('sha256', key).update(`${organisationId} ${system} ${siteId}`).digest('hex');
    return { ...entry, token: secret.slice(0, 40) };
  });
}

/** The tokens as the documentation offers them. */
export function offeredTokens(tokens: readonly NewToken[]) {
  return tokens.map(({ token, system, organisationId, siteId }) => {
    const { kind, name } = ownerOf(organisationId, siteId);
    return { token, system, kind, owner: name };
  });
}

/** Runs as the system clock does, and shows the time that it is set to. */
class DemoClock extends SystemClock {
  present = new Date();

  override wall(): number {
    return this.present.getTime();
  }
}

/** Posts the network, its products, a year of price changes, transactions, claims and vouchers, each as of its time. */
async function fillWithDemo(
  log: EventLog,
  dataDir: string,
  tokens: readonly NewToken[],
  show: (step: string) => void,
  receiver: string | undefined,
): Promise<void> {
  const ending = new AbortController();
  const clock = new DemoClock();
  const follower = new FollowedDirectory(clock, log, ending.signal);
  const loader = makeLoader(clock, log, follower, dataDir);
  // There are no read models yet to wait for.
  const readModels = new WaitForReadModels(clock, async () => true);
  const productCommands = new ProductCommands(loader, new FeedRefusals(clock, log), follower, readModels);
  const visible = new VisibleWrites(log, readModels);
  const voucherCommands = new VoucherCommands(new VoucherWriter(clock, log), visible, follower, clock);
  const post = async (feedId: number, products: readonly PostedProduct[]): Promise<void> => {
    const caller = posterOf(feedId, follower.directory);
    const body = bodyOf(JSON.stringify({ products }));
    const format = () => 'json' as const;
    const { faults } = await productCommands.load({ feedId, caller, mode: 'update', format, body });
    if (faults[0] !== undefined) throw new Error(`a demo product was refused: ${faults[0].message}`);
  };
  const postVoucher = async ({ organisationId, posted }: DemoVoucher): Promise<void> => {
    await voucherCommands.post(posted, organisationId);
  };
  try {
    const started = clock.present;
    const firstPosted = new Date(started.getTime() - FIRST_POSTED * DAY);
    show('the demo network is being created');
    const network = { ...demoNetwork(), tokens };
    const { position } = await importNetwork(clock, log, network, { at: firstPosted.toISOString() });
    await follower.reached(position);
    const parts = { log, follower, visible, clock };
    const steps = [
      ...FEEDS.map(({ id }) => ({ at: firstPosted, run: () => post(id, demoFeed(id)) })),
      ...demoPriceChanges(started).map(({ feedId, at, products }) => ({
        at,
        run: () => post(feedId, products),
      })),
      ...demoTransactions(started, parts),
      ...demoClaims(started, parts),
      ...(receiver === undefined ? [] : demoSubscriptions(started, receiver, parts)),
      {
        at: new Date(started.getTime() - FIRST_VOUCHER * DAY),
        run: () => postVoucher(firstVoucher(started)),
      },
    ];
    const ordered = steps.sort((one, other) => one.at.getTime() - other.at.getTime());
    const vouchers = demoVouchers(started).map((one) => ({ at: started, run: () => postVoucher(one) }));
    const all = [...ordered, ...vouchers];
    for (const [done, { at, run }] of all.entries()) {
      clock.present = at;
      await run();
      show(
        `the demo network is being created: ${Math.floor((100 * (done + 1)) / all.length)} % of its history`,
      );
    }
  } finally {
    await loader.close();
    ending.abort();
    await follower.ended;
  }
}

/** The advertiser that a feed belongs to, as the caller of a post. */
function posterOf(feedId: number, directory: Directory): Caller {
  const programId = directory.feed(feedId)?.programIds[0] ?? NaN;
  const organisationId = directory.program(programId)?.organisationId ?? NaN;
  return { tokenHash: '', organisationId, kind: 'advertiser', system: 'PRODUCTS' };
}

function bodyOf(text: string): LoadCommand['body'] {
  return {
    chunks: async function* () {
      yield Buffer.from(text);
    },
  };
}

/** A voucher to post for an advertiser; dates in epoch ms. */
interface DemoVoucher {
  readonly organisationId: number;
  readonly posted: { readonly sourceId: string; readonly [field: string]: unknown };
}

/** Vouchers of all six types: most are valid now, one starts later, one is for a single site. */
export function demoVouchers(now: Date): readonly DemoVoucher[] {
  const { lindner, harbour } = DEMO.advertisers;
  const day = (days: number): number => Math.floor(now.getTime() / DAY + days) * DAY;
  const valid = { startDate: day(-3), endDate: day(60) };
  return [
    of(lindner, {
      ...{ sourceId: 'audio-10', programId: 101, voucherTypeId: 1, languageId: 'de', ...valid },
      title: '10 € auf Kopfhörer',
      code: 'KLANG10',
      shortDescription: '10 € Nachlass ab 50 € Bestellwert',
      description: 'Gilt für alle Kopfhörer, je Kunde einmal.',
      landingUrl: 'https://www.lindner.example/audio',
    }),
    of(lindner, {
      ...{ sourceId: 'lamps-15', programId: 101, voucherTypeId: 2, languageId: 'de', ...valid },
      title: '15 % auf alle Leuchten',
      shortDescription: '15 % ohne Code',
      description: 'Der Nachlass wird im Warenkorb abgezogen.',
      ...{ discountAmount: 15, isPercentage: true },
      landingUrl: 'https://www.lindner.example/leuchten',
    }),
    of(lindner, {
      ...{ sourceId: 'free-cable', programId: 102, voucherTypeId: 3, languageId: 'en', ...valid },
      title: 'A free cable with every speaker',
      shortDescription: 'Free cable, three metres',
      description: 'Added to the basket automatically, while stocks last.',
    }),
    of(harbour, {
      ...{ sourceId: 'free-delivery', programId: 201, voucherTypeId: 4, languageId: 'en', ...valid },
      title: 'Free delivery',
      shortDescription: 'Free delivery from £30',
      description: 'Within the United Kingdom.',
    }),
    of(harbour, {
      ...{ sourceId: 'raffle', programId: 202, voucherTypeId: 5, languageId: 'de', ...valid },
      title: 'Ein Wochenende am Meer gewinnen',
      shortDescription: 'Verlosung unter allen Bestellungen',
      description: 'Jede Bestellung nimmt teil; gezogen wird am letzten Tag.',
      publisherInformation: 'Banner auf Anfrage.',
    }),
    of(harbour, {
      ...{ sourceId: 'winter', programId: 201, voucherTypeId: 6, languageId: 'en' },
      ...{ startDate: day(14), endDate: day(40), publishStartDate: day(7) },
      title: 'Winter sale',
      shortDescription: 'Up to half price',
      description: 'Coats, boots and blankets.',
    }),
    of(lindner, {
      ...{ sourceId: 'app-only', programId: 101, voucherTypeId: 6, languageId: 'de', ...valid },
      title: 'Nur in der App: zwei zum Preis von einem',
      shortDescription: 'Zwei zum Preis von einem',
      description: 'Für Leserinnen und Leser der App.',
      siteIds: [DEMO.sites.preisfuchsApp],
    }),
  ];
}

/** How many days ago the first voucher was posted, with another discount. */
const FIRST_VOUCHER = 100;

/** As it was before it was edited. */
function firstVoucher(now: Date): DemoVoucher {
  const [first] = demoVouchers(now);
  if (first === undefined) throw new Error('the demo has vouchers');
  const { organisationId, posted } = first;
  const startDate = Math.floor(now.getTime() / DAY - FIRST_VOUCHER) * DAY;
  const texts = {
    title: '5 € auf Kopfhörer',
    code: 'KLANG5',
    shortDescription: '5 € Nachlass ab 50 € Bestellwert',
  };
  return of(organisationId, { ...posted, ...texts, startDate });
}

function of(organisationId: number, posted: DemoVoucher['posted']): DemoVoucher {
  return { organisationId, posted };
}

/** Lines to print at the start: all tokens, and example calls for a base URL. */
export function demoLines(tokens: readonly NewToken[], baseUrl: string): readonly string[] {
  const [products, vouchers] = [tokensOf(tokens, 'PRODUCTS'), tokensOf(tokens, 'VOUCHERS')];
  const [conversions, claims] = [tokensOf(tokens, 'CONVERSIONS'), tokensOf(tokens, 'CLAIMS')];
  return [
    ...tokens.map(describe),
    '',
    '# For the examples of the README',
    `export ADVERTISER=${products.advertiser} PUBLISHER=${products.publisher}`,
    `export VOUCHER_ADVERTISER=${vouchers.advertiser} VOUCHER_PUBLISHER=${vouchers.publisher}`,
    `export CONVERSION_ADVERTISER=${conversions.advertiser} CONVERSION_PUBLISHER=${conversions.publisher}`,
    `export CONVERSION_OPERATOR=${conversions.operator} OPS=${tokensOf(tokens, 'OPS').operator}`,
    `export CLAIM_ADVERTISER=${claims.advertiser} CLAIM_PUBLISHER=${claims.publisher}`,
    ...exampleCalls(baseUrl, { products, vouchers, conversions, claims }),
  ];
}

function describe({ organisationId, system, siteId, token }: NewToken): string {
  const { kind, name } = ownerOf(organisationId, siteId);
  return `${token}  ${system.padEnd(8)}  ${kind} ${name}`;
}

function ownerOf(organisationId: number, siteId: number | undefined) {
  const { organisations, sites } = demoNetwork();
  const { kind = '', name = '' } = organisations.find(({ id }) => id === organisationId) ?? {};
  const site = sites.find(({ id }) => id === siteId);
  return { kind, name: site === undefined ? name : `${name}, site ${site.name}` };
}

type ExampleTokens = Readonly<Record<'advertiser' | 'publisher' | 'operator', string>>;

function tokensOf(tokens: readonly NewToken[], system: string): ExampleTokens {
  const matching = tokens.filter((token) => token.system === system);
  const find = (organisation: number, site?: number): string =>
    matching.find(({ organisationId, siteId }) => organisationId === organisation && siteId === site)
      ?.token ?? '';
  return {
    advertiser: find(DEMO.advertisers.lindner),
    publisher: find(DEMO.publishers.preisfuchs, DEMO.sites.preisfuchs),
    operator: find(DEMO.operator),
  };
}

/** A product to post by hand: its category is mapped in the example feed, and no other product has its EAN. */
const PRODUCT: PostedProduct = {
  sourceProductId: 'hello-1',
  name: 'Tonwerk Hello Kopfhörer',
  description: 'Ein Kopfhörer zum Ausprobieren.',
  productUrl: 'https://www.lindner.example/p/hello-1',
  price: 49.9,
  productImage: { url: 'https://img.lindner.example/500x300/hello-1.jpg' },
  categories: [{ name: 'Audio > Kopfhörer' }],
  brand: 'Tonwerk',
  ean: '2099999999998',
};

const ALL_FEEDS = '1001,1002,2001,2002';

/** Example calls to paste into a shell. */
export function exampleCalls(
  baseUrl: string,
  tokens: Readonly<Record<'products' | 'vouchers' | 'conversions' | 'claims', ExampleTokens>>,
): readonly string[] {
  const products = `${baseUrl}/1.0/products`;
  const transactions = `${baseUrl}/1.0/conversions/transactions`;
  const { vouchers, conversions, claims, products: token } = tokens;
  const get = (keys: string): string => `curl '${products}${keys};pretty=true?token=${token.publisher}'`;
  return [
    '# Search in JSON: headphones by price',
    get(`.json;fid=${ALL_FEEDS};q=headphones,kopfhorer;orderBy=priceAsc;pageSize=3`),
    '# The same in XML',
    get(`.xml;fid=${ALL_FEEDS};q=headphones,kopfhorer;orderBy=priceAsc;pageSize=3`),
    '# The price history of a lamp in the last year',
    get(`.json;fid=1001;tdCategoryId=22;pageSize=1;priceHistory=true;dateOutputFormat=iso8601`),
    '# Products that several shops sell, cheapest offer first',
    get(`.json;fid=${ALL_FEEDS};brand=Fjordholz;groupOffersByProduct=true;pageSize=2`),
    '# The category tree in German, with product counts of the feeds that a token can access',
    `curl '${baseUrl}/1.0/productCategories.json;language=de;pretty=true?token=${token.publisher}'`,
    '# The category mappings of a feed',
    `curl '${baseUrl}/1.0/categoryMappings.json;fid=1001;pretty=true?token=${token.advertiser}'`,
    '# The feeds that a token can access',
    `curl '${baseUrl}/1.0/productFeeds.json;pretty=true?token=${token.publisher}'`,
    '# Post a product, then find it by searching for "hello"',
    `curl -X POST -H 'Content-Type: application/json; charset=utf-8' -d ` +
      `'${JSON.stringify({ products: [PRODUCT] })}' '${products};fid=1001?token=${token.advertiser}'`,
    get('.json;fid=1001;q=hello'),
    '# Vouchers as JSON and as a calendar',
    `curl '${baseUrl}/1.0/vouchers.json;pretty=true?token=${vouchers.publisher}'`,
    `curl '${baseUrl}/1.0/vouchers.ics?token=${vouchers.publisher}'`,
    '# Pending transactions of a publisher',
    `curl '${transactions};messageTypeId=4;pageSize=2;pretty=true?token=${conversions.publisher}'`,
    '# Counts and amounts of all transactions by currency and state',
    `curl '${transactions}/totals;pretty=true?token=${conversions.operator}'`,
    '# Claims that await the approval of an advertiser',
    `curl '${baseUrl}/1.0/claims;statusId=2;limit=2;pretty=true?token=${claims.advertiser}'`,
  ];
}
