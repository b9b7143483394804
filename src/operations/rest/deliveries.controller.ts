import { type ListedDelivery } from '../../domain/deliveries/stored-delivery';
import { Controller, Get } from '@nestjs/common';
import { listDeliveries } from '../../../projections/delivery-list';
import { listReceivers } from '../../../projections/receiver-list';
import { Clock } from '../../http/clock';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/list-answer';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { type PageInParts } from '../../projector/search-in-parts';
import { type TopicName } from '../../domain/subscriptions/subscription';
import { SUBSCRIPTION_KINDS } from '../../services/subscriptions/kinds';
import { type OperatorsDelivery } from '../../services/subscriptions/deliveries.fields';
import { PAGE } from '../../services/subscriptions/deliveries.keys';
import { namedFor } from '../../services/subscriptions/deliveries.names';
import { toDelivery, toRest, toTotals, type Waiting } from '../../services/subscriptions/deliveries.output';
import { listPieces } from '../../wire/record/list-text';
import { pageSizeHeader } from '../../wire/keys/page-size';
import { listWriter } from '../../wire/record/list';
import { AnyWaiting } from '../any-waiting';
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
    private readonly clock: Clock,
  ) {}

  @Get('deliveries')
  @ApiOperation(operations.deliveries)
  @Roles(['operator'])
  @Produces(['json'])
  deliveries(@MatrixKeys(anyDeliveryKeys) keys: AnyDeliveryKeys): ListAnswer {
    return new ListAnswer(async ({ view, query }) => {
      const { organisationId, subscriptionId, receiverId, state } = keys;
      const { transactionId, messageTypeId, claimId, statusId } = keys;
      const criteria = {
        organisationId: given(organisationId),
        subscriptionId: given(subscriptionId),
        receiver: given(receiverId),
        topic: topicsOf(keys),
        subject: given([...transactionId, ...claimId]),
        stateId: given([...messageTypeId, ...statusId]),
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
      const waiting = await new AnyWaiting(this.log, this.store).of(found.receivers, this.clock.now());
      const output = found.receivers.map(({ receiver, ...totals }) => ({
        organisationId: totals.organisationId,
        subscriptionId: totals.subscriptionId,
        receiverId: receiver,
        disabled: waiting.isHeld(receiver),
        ...toRest(waiting.restingUntil.get(receiver)),
        ...toTotals(totals),
      }));
      return {
        pieces: listPieces(receiversText(view), only(output)),
        headers: headersOf(keys, found, (next) => anyReceiverCursors.write(keys, next)),
      };
    });
  }

  private async *outputOf({
    groups,
  }: Pick<PageInParts<ListedDelivery>, 'groups'>): AsyncGenerator<Iterable<OperatorsDelivery>> {
    const anyWaiting = new AnyWaiting(this.log, this.store);
    for await (const batch of groups) {
      const listed = await anyWaiting.current(batch.flat());
      const waiting = await anyWaiting.of(listed, this.clock.now());
      yield listed.map((one) => toOutput(one, waiting));
    }
  }
}

/** The fields of a delivery have the names of its kind: those of claims, or of transactions. */
function toOutput(listed: ListedDelivery, waiting: Waiting): OperatorsDelivery {
  const { state, ...output } = toDelivery(listed, waiting);
  return {
    organisationId: listed.organisationId,
    subscriptionId: listed.subscriptionId,
    ...namedFor(SUBSCRIPTION_KINDS[listed.topic], output),
    state: listed.state,
    held: state === 'held',
  };
}

/** Keys of transactions find no messages about claims, and the reverse. */
function topicsOf({
  transactionId,
  messageTypeId,
  claimId,
  statusId,
}: AnyDeliveryKeys): readonly TopicName[] | undefined {
  const excluded = new Set<TopicName>();
  if (transactionId.length + messageTypeId.length > 0) excluded.add('claims');
  if (claimId.length + statusId.length > 0) excluded.add('transactions');
  if (excluded.size === 0) return undefined;
  return (['transactions', 'claims'] as const).filter((topic) => !excluded.has(topic));
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
