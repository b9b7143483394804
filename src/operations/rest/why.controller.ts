import { Controller, Get } from '@nestjs/common';
import { QueuedAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { FollowedDirectory } from '../../network/follower';
import { VISIBILITY } from '../../network/visibility';
import { Clock } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { INTEGER, type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { explainNotifications } from '../explain-notifications';
import { whyProduct, whyVoucher } from '../why';

const viewerKeys = {
  publisher: { type: INTEGER, description: 'Organisation of a publisher; by default, any publisher' },
  siteId: { type: INTEGER, description: 'Site of a publisher' },
} as const satisfies KeyTable;

const productKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed' },
  spId: { type: TEXT, required: true, description: 'sourceProductId in the feed' },
  ...viewerKeys,
} as const satisfies KeyTable;

const voucherKeys = {
  id: { type: INTEGER, required: true, description: 'Id of the voucher' },
  ...viewerKeys,
} as const satisfies KeyTable;

const deliveryKeys = {
  id: {
    type: TEXT,
    required: true,
    description:
      'transactionId, legacyTransactionId, claimId, or the id of a voucher, of a product (<feedId>-<sourceProductId>) or ' +
      'feed, or of a message; what is none of these may be the order number of transactions and claims',
  },
  subscriptionId: { type: TEXT, description: 'Only this subscription' },
} as const satisfies KeyTable;

const EXPLANATION = {
  name: 'DeliveryExplanation',
  kind: record({
    lines: {
      kind: listOf(text(), { each: 'line' }),
      description: 'As `affilog why delivery` prints them: the first 10,000',
    },
  }),
} as const satisfies Shape;

const MOST_LINES = 10_000;

/** Why something is visible or was sent, or not (`docs/decisions.md#x110`). */
export const whyOperations = operationsById({
  whyProduct: {
    summary: 'Explain whether publishers see a product',
    description: 'Each condition with what it depends on, and what helps if it does not hold.',
    example: { fid: 1001, spId: 'lamp-1' },
    answer: VISIBILITY,
  },
  whyVoucher: {
    summary: 'Explain whether publishers see a voucher',
    description: 'Each condition with what it depends on, and what helps if it does not hold.',
    example: { id: 1 },
    answer: VISIBILITY,
  },
  whyDelivery: {
    summary: 'Explain why messages were sent, or not',
    description:
      'For each transition of a transaction, claim, voucher or product and each subscription of its parties.',
    example: { id: '1' },
    answer: EXPLANATION,
  },
});

/** The same functions as `affilog why`. */
@Controller('/ops/1.0/why')
@Roles(['operator'])
@Produces(['json'])
export class WhyController {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
  ) {}

  @Get('product')
  @ApiOperation(whyOperations.whyProduct)
  product(@MatrixKeys(productKeys) { fid, spId, ...viewer }: Keys<typeof productKeys>): QueuedAnswer {
    return QueuedAnswer.of(whyOperations.whyProduct, (query) =>
      whyProduct(this.parts(), { feedId: fid, sourceProductId: spId }, viewer, query),
    );
  }

  @Get('voucher')
  @ApiOperation(whyOperations.whyVoucher)
  voucher(@MatrixKeys(voucherKeys) { id, ...viewer }: Keys<typeof voucherKeys>): QueuedAnswer {
    return QueuedAnswer.of(whyOperations.whyVoucher, () =>
      whyVoucher(this.parts(), id, { ...viewer, now: this.clock.now() }),
    );
  }

  @Get('delivery')
  @ApiOperation(whyOperations.whyDelivery)
  delivery(@MatrixKeys(deliveryKeys) { id, subscriptionId }: Keys<typeof deliveryKeys>): QueuedAnswer {
    return QueuedAnswer.of(whyOperations.whyDelivery, async ({ signal }) => {
      const options = { only: subscriptionId, now: this.clock.now() };
      return await firstLines(explainNotifications(this.parts(), id, options), signal);
    });
  }

  private parts() {
    return { log: this.log, store: this.store, directory: this.follower.directory };
  }
}

async function firstLines(all: AsyncIterable<string>, signal: AbortSignal | undefined) {
  const lines: string[] = [];
  for await (const line of all) {
    signal?.throwIfAborted();
    if (lines.push(line) === MOST_LINES) break;
  }
  return { lines };
}
