import { Controller, Delete, Get, type OnModuleDestroy, Param, Post } from '@nestjs/common';
import { Answer, ListAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { Fault } from '../../kernel/fault';
import { ReadStore } from '../../kernel/read-store';
import { without } from '../../kernel/values';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { type AsOf, type BegunAsOf, dropAsOf, listAsOf, UnknownAsOf } from '../../projector/as-of';
import { Clock } from '../../runtime/clock';
import { csvKeys, searchKeys } from '../../services/products/keys';
import { productApi } from '../../services/products/api';
import { ProductSettings, ProductQueries } from '../../services/products/product.queries';
import { foundProducts } from '../../services/products/products.controller';
import { listKeys as transactionKeys, totalsKeys, transactionApi } from '../../services/transactions/api';
import { TransactionQueries } from '../../services/transactions/transaction.queries';
import { voucherApi } from '../../services/vouchers/api';
import {
  listKeys as voucherKeys,
  VoucherSettings,
  VoucherQueries,
} from '../../services/vouchers/voucher.queries';
import { operationsById, type Shape } from '../../wire/api/description';
import { INTEGER, type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { PAGE_HEADERS } from '../../wire/keys/pages';
import { integer, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { checkedAsOf, documentsOf, NETWORK, type PastView, PastViews, viewerAmong } from '../as-of';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, REASON } from './operator-service';
import { ProjectionParts } from './projections.controller';

const NAMED = { type: TEXT, required: true, description: 'Name of the read models as of a time' } as const;

const buildKeys = {
  name: NAMED,
  projection: { type: TEXT, required: true, description: 'Read model, such as products, or all' },
  at: { type: TEXT, description: 'As of a time; a date includes its day (UTC), up to the present' },
  position: { type: TEXT, description: 'As of a log position' },
  ...REASON,
} as const satisfies KeyTable;

/** Of lists that depend on who asks. */
const viewKeys = {
  asOf: { type: TEXT, description: 'Name of read models as of a time; by default, the present' },
  publisher: { type: INTEGER, description: 'As this publisher sees it' },
  advertiser: { type: INTEGER, description: 'As this advertiser sees it' },
} as const satisfies KeyTable;

const CSV = Object.keys(csvKeys) as (keyof typeof csvKeys)[];
const productViewKeys = { ...without(searchKeys, ...CSV), ...viewKeys } as const satisfies KeyTable;
/** Nothing changes in the past, so there is no `since`. */
const voucherViewKeys = {
  ...without(voucherKeys, 'format', 'since'),
  ...viewKeys,
} as const satisfies KeyTable;
const transactionViewKeys = {
  ...without(transactionKeys, 'format', 'since'),
  ...viewKeys,
} as const satisfies KeyTable;
const totalsViewKeys = { ...totalsKeys, ...viewKeys } as const satisfies KeyTable;

const NO_CSV = {
  format: undefined,
  csvSeparators: undefined,
  csvEmbrace: undefined,
  csvFlattenFields: undefined,
};

const asOfRecord = record(
  {
    name: { kind: text(), description: 'Name' },
    time: {
      kind: text(),
      description:
        'What its queries take for the present, ISO 8601; absent while that of a position is searched for',
      optional: true,
    },
    position: {
      kind: text(),
      description: 'Log position; absent while it is searched for, and if there is none',
      optional: true,
    },
    expires: { kind: text(), description: 'When it is dropped, ISO 8601', optional: true },
    complete: {
      kind: listOf(
        record({
          name: { kind: text(), description: 'Read model' },
          documents: { kind: integer(), description: 'Number of its documents' },
        }),
        { each: 'readModel' },
      ),
      description: 'What can be read',
    },
    unfinished: {
      kind: listOf(text(), { each: 'name' }),
      description: 'Read models that are being built, or whose build was interrupted: ask for them again',
    },
    failure: { kind: text(), description: 'Why the last build by this process failed', optional: true },
  },
  { name: 'AsOf' },
);

const BUILT = { name: 'AsOf', kind: asOfRecord } as const satisfies Shape;
const ALL = { name: 'AsOfs', kind: listOf(asOfRecord, { each: 'asOf' }) } as const satisfies Shape;

const NAME = { name: { type: TEXT, description: 'Its name', example: 'old' } };

const PAST =
  'As the same list of its service; with `asOf` as it was at that time, with the reference data of then; in JSON.';

/** Read models as of a time (`docs/decisions.md#x111`). */
export const asOfOperations = operationsById({
  listAsOf: {
    summary: 'List the read models as of a time',
    description: 'Those that expire first come first.',
    answer: ALL,
  },
  buildAsOf: {
    summary: 'Build read models as of a time',
    description:
      'Answers once the build has begun: the list reports when it is complete, or why it has failed, as when the log has no ' +
      'event up to that time. Asked again after an interruption, it continues. They are dropped after a day.',
    example: { name: 'january', projection: 'products', at: '2026-01-31T12:00:00Z' },
    answer: BUILT,
  },
  dropAsOf: {
    summary: 'Drop read models as of a time',
    description: 'A build of them by the process that answers is stopped.',
    path: NAME,
  },
  searchProductsAsOf: {
    mayConflict: true,
    summary: 'Search products for operators',
    description: PAST,
    example: { ...productApi.searchProducts.example, asOf: 'first', publisher: 11 },
    answer: productApi.searchProducts.answer,
    sends: productApi.searchProducts.sends,
  },
  listVouchersAsOf: {
    mayConflict: true,
    summary: 'List vouchers for operators',
    description: PAST,
    example: { asOf: 'first', publisher: 11 },
    answer: voucherApi.listVouchers.answer,
    sends: voucherApi.listVouchers.sends,
  },
  listTransactionsAsOf: {
    mayConflict: true,
    summary: 'List transactions for operators',
    description: `${PAST} Without an organisation, those of all.`,
    example: { asOf: 'first', pageSize: 3 },
    answer: transactionApi.listTransactions.answer,
    sends: PAGE_HEADERS,
  },
  totalTransactionsAsOf: {
    mayConflict: true,
    summary: 'Sum up transactions for operators',
    description:
      'As the totals of conversions; with `asOf` as they were at that time. Without an organisation, of all transactions.',
    example: { ...transactionApi.totalTransactions.example, publisher: 11 },
    answer: transactionApi.totalTransactions.answer,
  },
});

/** Read models as of a time, for analysts: the same functions as `affilog rebuild … --as` and `affilog as-of`. */
@Controller('/ops/1.0')
@Roles(['operator'])
@Produces(['json'])
export class AsOfController implements OnModuleDestroy {
  private readonly stop = new AbortController();
  private building: Building | undefined;
  /** The last build of this process, while it is under way and after it has failed. */
  private last: (BegunAsOf & { readonly failure?: string }) | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly clock: Clock,
    private readonly products: ProductSettings,
    private readonly vouchers: VoucherSettings,
    private readonly views: PastViews,
    private readonly follower: FollowedDirectory,
    private readonly actions: OperatorActions,
    private readonly parts: ProjectionParts,
  ) {}

  /** A stop does not wait for a build; asked again, it continues. */
  async onModuleDestroy(): Promise<void> {
    this.stop.abort();
    await this.stopBuilding();
  }

  @Get('asOf')
  @ApiOperation(asOfOperations.listAsOf)
  list(): ListAnswer {
    return ListAnswer.of(asOfOperations.listAsOf, async () => {
      const all = await this.all();
      return { items: [all], total: all.length };
    });
  }

  @Post('asOf')
  @ApiOperation(asOfOperations.buildAsOf)
  async build(
    @MatrixKeys(buildKeys) keys: Keys<typeof buildKeys>,
    @CurrentCaller() caller: Caller,
  ): Promise<Answer> {
    const begun = await this.begin(keys, caller);
    const listed = (await this.all()).find(({ name }) => name === begun.name);
    return Answer.of(asOfOperations.buildAsOf, listed ?? unsaved(begun));
  }

  @Delete('asOf/:name')
  @ApiOperation(asOfOperations.dropAsOf)
  async drop(
    @Param('name') name: string,
    @MatrixKeys(REASON) { reason }: Keys<typeof REASON>,
    @CurrentCaller() caller: Caller,
  ): Promise<Answer> {
    const parts = { clock: this.clock, owner: this.clock.uuid(), signal: this.stop.signal };
    if (this.building?.name === name) await this.stopBuilding();
    const hasFailed = this.last?.name === name;
    if (hasFailed) this.last = undefined;
    const drop = ({ store }: { readonly store: ReadStore }) => dropAsOf(store, name, parts);
    await this.actions.of(caller, 'as-of drop', { name, reason }, drop).catch((error: unknown) => {
      if (!(hasFailed && error instanceof UnknownAsOf)) throw error;
    });
    return Answer.none({ position: await this.log.head() });
  }

  @Get('products')
  @ApiOperation(asOfOperations.searchProductsAsOf)
  searchProducts(@MatrixKeys(productViewKeys) keys: Keys<typeof productViewKeys>): ListAnswer {
    const all = { ...keys, ...NO_CSV };
    return foundProducts(all, this.products, (query) =>
      this.past(keys, 'products', async ({ store, directory }) => {
        const caller = viewerAmong(keys, directory, 'PRODUCTS');
        return await new ProductQueries(store, { directory }, this.products).search(all, caller, query);
      }),
    );
  }

  @Get('vouchers')
  @ApiOperation(asOfOperations.listVouchersAsOf)
  listVouchers(@MatrixKeys(voucherViewKeys) keys: Keys<typeof voucherViewKeys>): ListAnswer {
    return ListAnswer.of(asOfOperations.listVouchersAsOf, (query) =>
      this.past(keys, 'vouchers', async ({ store, directory, now }) => {
        const caller = viewerAmong(keys, directory, 'VOUCHERS');
        const queries = new VoucherQueries(store, this.log, { directory }, this.vouchers);
        return await queries.list({ ...keys, format: undefined, since: undefined }, caller, now, query);
      }),
    );
  }

  @Get('transactions')
  @ApiOperation(asOfOperations.listTransactionsAsOf)
  listTransactions(@MatrixKeys(transactionViewKeys) keys: Keys<typeof transactionViewKeys>): ListAnswer {
    return ListAnswer.of(asOfOperations.listTransactionsAsOf, (query) =>
      this.past(keys, 'transactions', async ({ store, directory }) => {
        const caller = viewerAmong(keys, directory, 'CONVERSIONS', NETWORK);
        const queries = new TransactionQueries(store, this.log, { directory });
        return await queries.list({ ...keys, format: undefined, since: undefined }, caller, query);
      }),
    );
  }

  @Get('transactions/totals')
  @ApiOperation(asOfOperations.totalTransactionsAsOf)
  @Produces(['json', 'csv'])
  totalTransactions(@MatrixKeys(totalsViewKeys) keys: Keys<typeof totalsViewKeys>): ListAnswer {
    return ListAnswer.of(
      asOfOperations.totalTransactionsAsOf,
      (query) =>
        this.past(keys, 'transactions', async ({ store, directory }) => {
          const caller = viewerAmong(keys, directory, 'CONVERSIONS', NETWORK);
          return await new TransactionQueries(store, this.log, { directory }).totals(keys, caller, query);
        }),
      keys,
    );
  }

  private async past<T>(
    { asOf }: { readonly asOf?: string | undefined },
    model: string,
    read: (view: PastView) => Promise<T>,
  ): Promise<T> {
    const present = { store: this.store, directory: this.follower.directory, now: this.clock.now() };
    try {
      return await read(asOf === undefined ? present : await this.views.of(asOf, model));
    } catch (error) {
      // Keys that another service would refuse by a code of its own.
      throw error instanceof Fault && error.status === 400 ? fault.unusable(error.message) : error;
    }
  }

  /** Resolves once the build has begun. */
  private async begin(keys: Keys<typeof buildKeys>, caller: Caller): Promise<BegunAsOf> {
    if (this.building !== undefined)
      throw fault.conflict(
        `a build of ${this.building.name} is under way in this process: wait until it is complete, or drop it`,
      );
    const { name } = keys;
    const stop = new AbortController();
    this.last = undefined;
    return await new Promise<BegunAsOf>((resolve, reject) => {
      const ended = this.actions
        .of(caller, 'rebuild', keys, async ({ log }, record) => {
          await checkedAsOf(log, keys, this.clock);
          const onBegin = async (begun: BegunAsOf): Promise<void> => {
            await record();
            this.last = begun;
            resolve(begun);
          };
          await this.parts.rebuilding.buildAsOf(keys, onBegin, stop.signal);
        })
        .then(() => {
          this.last = undefined;
        })
        .catch((failure: unknown) => {
          const error = failure instanceof Error ? failure : new Error(String(failure));
          if (this.last !== undefined) this.last = { ...this.last, failure: error.message };
          reject(error);
        })
        .finally(() => {
          this.building = undefined;
        });
      this.building = { name, stop, ended };
    });
  }

  private async stopBuilding(): Promise<void> {
    this.building?.stop.abort();
    await this.building?.ended;
  }

  /** What there is, and what is not yet. */
  private async all() {
    const { last } = this;
    const saved = await Promise.all((await listAsOf(this.store)).map((asOf) => this.toOutput(asOf)));
    const isSaved = last === undefined || saved.some(({ name }) => name === last.name);
    return isSaved ? saved : [...saved, unsaved(last)];
  }

  private async toOutput(asOf: AsOf) {
    const complete = await documentsOf(this.store, asOf);
    const failure = this.last?.name === asOf.name ? this.last.failure : undefined;
    return {
      ...without(asOf, 'models'),
      complete,
      unfinished: Object.keys(asOf.models).filter((model) => complete.every(({ name }) => name !== model)),
      ...(failure === undefined ? {} : { failure }),
    };
  }
}

interface Building {
  readonly name: string;
  readonly stop: AbortController;
  /** Is never rejected. */
  readonly ended: Promise<void>;
}

function unsaved(begun: BegunAsOf & { readonly failure?: string }) {
  return { ...without(begun, 'models'), complete: [], unfinished: Object.keys(begun.models) };
}
