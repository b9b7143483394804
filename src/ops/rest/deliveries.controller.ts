import { type ListedDelivery } from '../../notifications/stored-delivery';
import { Controller, Get } from '@nestjs/common';
import { listDeliveries } from '../../../projections/delivery-list';
import { listReceivers } from '../../../projections/receiver-list';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/list-answer';
import { load } from '../../kernel/decider';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { type PageInParts } from '../../kernel/search-in-parts';
import { subscriptionDecider } from '../../notifications/subscription';
import { type OperatorsDelivery } from '../../subscriptions/deliveries.fields';
import { PAGE } from '../../subscriptions/deliveries.keys';
import { heldReceivers, toDelivery, toTotals } from '../../subscriptions/deliveries.output';
import { listPieces } from '../../wire/list-text';
import { pageSizeHeader } from '../../wire/page-size';
import { listWriter } from '../../wire/record-list';
import {
  ANY_DELIVERIES,
  ANY_RECEIVERS,
  anyDeliveryCursors,
  type AnyDeliveryKeys,
  anyDeliveryKeys,
  anyDeliveryOperations as operations,
  anyReceiverCursors,
  type AnyReceiverKeys,
  anyReceiverKeys,
} from './deliveries.operations';
import { opsFaults as fault } from './ops-service';

const deliveriesText = listWriter(ANY_DELIVERIES);
const receiversText = listWriter(ANY_RECEIVERS);

/** Receivers on a page by default: each has a document per day. */
const RECEIVERS = 100;

/** What has become of all messages, for operators (`docs/decisions.md#n14`). */
@Controller('/ops/1.0')
export class DeliveriesController {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
  ) {}

  @Get('deliveries')
  @ApiOperation(operations.deliveries)
  @Roles(['operator'])
  @Produces(['json'])
  deliveries(@MatrixKeys(anyDeliveryKeys) keys: AnyDeliveryKeys): ListAnswer {
    return new ListAnswer(async ({ view, query }) => {
      const { organisationId, subscriptionId, receiverId, transactionId, messageTypeId, state } = keys;
      const criteria = {
        organisationId: given(organisationId),
        subscriptionId: given(subscriptionId),
        receiver: given(receiverId),
        subject: given(transactionId),
        stateId: given(messageTypeId),
        states: given(state)?.map((one) => ({ state: one })),
        at: { min: keys.minTime, max: keys.maxTime },
      };
      const page = { size: pageSizeOf(keys.pageSize, PAGE), after: anyDeliveryCursors.read(keys) };
      const found = await listDeliveries(this.store, criteria, page, query);
      return {
        pieces: listPieces(deliveriesText(view), this.outputOf(found)),
        headers: headersOf(keys, found, (next) => anyDeliveryCursors.write(keys, next)),
      };
    });
  }

  @Get('receivers')
  @ApiOperation(operations.receivers)
  @Roles(['operator'])
  @Produces(['json'])
  receivers(@MatrixKeys(anyReceiverKeys) keys: AnyReceiverKeys): ListAnswer {
    return new ListAnswer(async ({ view, query }) => {
      const { organisationId, subscriptionId } = keys;
      const criteria = { organisationId: given(organisationId), subscriptionId: given(subscriptionId) };
      const page = { size: pageSizeOf(keys.pageSize, RECEIVERS), after: anyReceiverCursors.read(keys) };
      const found = await listReceivers(this.store, criteria, page, query);
      const output = found.receivers.map(({ receiver, ...totals }) => ({
        organisationId: totals.organisationId,
        subscriptionId: totals.subscriptionId,
        receiverId: receiver,
        ...toTotals(totals),
      }));
      return {
        pieces: listPieces(receiversText(view), only(output)),
        headers: headersOf(keys, found, (next) => anyReceiverCursors.write(keys, next)),
      };
    });
  }

  /** Whether a message is held follows from its subscription, which is read once for all its messages of a page. */
  private async *outputOf({
    groups,
  }: Pick<PageInParts<ListedDelivery>, 'groups'>): AsyncGenerator<Iterable<OperatorsDelivery>> {
    const held = new Map<string, ReadonlySet<string>>();
    for await (const batch of groups) {
      const listed = batch.flat();
      for (const { subscriptionId } of listed)
        if (!held.has(subscriptionId)) held.set(subscriptionId, await this.heldOf(subscriptionId));
      yield listed.map((one) => ({
        organisationId: one.organisationId,
        subscriptionId: one.subscriptionId,
        ...toDelivery(one, (receiver) => held.get(one.subscriptionId)?.has(receiver) === true),
      }));
    }
  }

  private async heldOf(subscriptionId: string): Promise<ReadonlySet<string>> {
    const { state } = await load(this.log, subscriptionDecider, subscriptionId);
    return state.is === 'active' ? heldReceivers(subscriptionId, state) : new Set();
  }
}

function headersOf<Cursor>(
  { pageSize = 0 }: { readonly pageSize: number | undefined },
  { total, next }: { readonly total: number; readonly next?: Cursor },
  write: (next: Cursor) => string,
): Readonly<Record<string, string>> {
  return {
    'X-Total-Count': String(total),
    ...pageSizeHeader(pageSize, PAGE),
    ...(next === undefined ? {} : { 'X-Next-Cursor': write(next) }),
  };
}

function pageSizeOf(pageSize: number | undefined, otherwise: number): number {
  if (pageSize === undefined) return otherwise;
  if (pageSize >= 1) return Math.min(PAGE, pageSize);
  throw fault.unusable(`pageSize=${pageSize}: expected an integer of at least 1`);
}

function given<Value>(values: readonly Value[]): readonly Value[] | undefined {
  return values.length === 0 ? undefined : values;
}

async function* only<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  yield items;
}
