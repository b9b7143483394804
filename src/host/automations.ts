import { trackedOrders } from '../../projections/tracked-orders';
import { transactions } from '../../projections/transactions';
import { type Automation } from '../automation/automation';
import { claimAutomations } from '../claims/automations';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { PositionWait } from '../projector/wait';
import { transactionAutomations } from '../transactions/automations';
import { trackClaimedOrder } from '../transactions/claimed-order';

/** How long a read model may take to reach the end of the log (ms). */
const REACH_MS = 5_000;

/** Those of all services, with what one needs of another. */
export function automationsOver({
  log,
  store,
}: {
  readonly log: EventLog;
  readonly store: ReadStore;
}): readonly Automation[] {
  const wait = new PositionWait(store, [transactions]);
  return [
    ...transactionAutomations,
    ...claimAutomations({
      store,
      ordersNow: async (advertiserId, orderNumber) => {
        if (!(await wait.until(await log.head(), REACH_MS)))
          throw new EngineUnavailable('the read model of transactions is behind the log');
        const orders = await trackedOrders(store, { advertiserId, orderNumbers: [orderNumber] });
        return orders.get(orderNumber) ?? [];
      },
      track: trackClaimedOrder,
    }),
  ];
}
