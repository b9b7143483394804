import { trackedOrders } from '../../projections/tracked-orders';
import { transactions } from '../../projections/transactions';
import { type Automation } from './automation';
import { claimAutomations } from './claims';
import { EngineUnavailable } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { PositionWait } from '../projector/wait';
import { transactionAutomations } from './transactions';

/** How long the read model of transactions may take to include what was reported before a claim was approved (ms). */
const REACH_MS = 5_000;

/** Those of all services, with what one needs of another. */
export function automationsOver(store: ReadStore): readonly Automation[] {
  const wait = new PositionWait(store, [transactions]);
  return [
    ...transactionAutomations,
    ...claimAutomations({
      store,
      ordersNow: async (advertiserId, orderNumber, since) => {
        // Not the end of the log, which may be ahead of the read model all the time.
        if (!(await wait.until(since, REACH_MS)))
          throw new EngineUnavailable('the read model of transactions is behind the log');
        const orders = await trackedOrders(store, { advertiserId, orderNumbers: [orderNumber] });
        return orders.get(orderNumber) ?? [];
      },
    }),
  ];
}
