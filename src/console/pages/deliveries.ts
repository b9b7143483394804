import { type Asked, type Body, type Page, section, type Value } from '../content';
import { type Keys, type Operator } from '../operator';
import { linked } from '../render';
import { SIZE, choice, line, nextPage, short, state } from './common';

interface Delivery {
  readonly messageId: string;
  readonly organisationId: number;
  readonly subscriptionId: string;
  readonly state: string;
  readonly held: boolean;
  readonly attempts?: number;
  readonly time?: string;
  readonly transactionId?: string;
  readonly claimId?: string;
  readonly reason?: string;
  readonly receiverId?: string;
}

interface Receiver {
  readonly organisationId: number;
  readonly subscriptionId: string;
  readonly receiverId: string;
  readonly disabled: boolean;
  readonly restsUntil?: string;
  readonly [name: string]: unknown;
}

function nextCursor(next: string | undefined, name = 'cursor'): Asked | undefined {
  return next === undefined ? undefined : { [name]: next };
}

/** With this cursor a list begins, and says how to continue. */
const FIRST = '*';

export const deliveries: Page = {
  name: 'deliveries',
  title: 'Deliveries',
  inMenu: true,
  fields: (asked) => [
    choice(asked, 'state', 'State', ['due', 'retrying', 'delivered', 'dead', 'cancelled']),
    line(asked, 'organisationId', 'Organisation'),
    line(asked, 'subscriptionId', 'Subscription'),
  ],
  sections: (operator, asked) => {
    const { state: wanted, organisationId, subscriptionId, cursor, receivers = FIRST } = asked;
    return [
      section(
        'deliveries',
        'Messages, the newest first',
        () =>
          deliveryTable(
            operator,
            { state: wanted, organisationId, subscriptionId, cursor: cursor ?? FIRST, pageSize: SIZE },
            asked,
          ),
        true,
      ),
      section(
        'receivers',
        'Receivers, those that were used last first',
        async () => {
          const keys = { organisationId, subscriptionId, cursor: receivers, pageSize: SIZE };
          const { answer: found, next } = await operator.page<readonly Receiver[]>(
            '/ops/1.0/receivers',
            keys,
          );
          const table: Body = {
            is: 'table',
            columns: ['Receiver', 'Organisation', 'Subscription', 'State', 'How it does'],
            none: 'Nothing was sent to anybody.',
            rows: found.map(
              ({ receiverId, organisationId: owner, subscriptionId: id, disabled, ...rest }) => [
                receiverId,
                owner,
                linked(id, 'history', { kind: 'subscription', id }),
                receiverState(disabled, rest.restsUntil),
                short(rest),
              ],
            ),
          };
          return [table, ...nextPage(deliveries, asked, nextCursor(next, 'receivers'))];
        },
        true,
      ),
    ];
  },
};

function receiverState(isDisabled: boolean, restsUntil: string | undefined): Value {
  if (isDisabled) return { text: 'disabled', tone: 'bad' };
  if (restsUntil !== undefined) return { text: `rests until ${restsUntil}`, tone: 'waiting' };
  return { text: 'enabled', tone: 'good' };
}

export async function deliveryTable(
  operator: Operator,
  keys: Keys,
  asked: Asked = {},
): Promise<readonly Body[]> {
  const { answer, next } = await operator.page<readonly Delivery[]>('/ops/1.0/deliveries', keys);
  const table: Body = {
    is: 'table',
    columns: ['Message', 'State', 'Organisation', 'Subscription', 'About', 'Details'],
    none: 'No messages.',
    rows: answer.map(({ messageId, state: is, held, organisationId, subscriptionId, ...rest }) => {
      const { transactionId, claimId } = rest;
      const about = transactionId ?? claimId;
      const kind = transactionId === undefined ? 'claim' : 'transaction';
      return [
        linked(messageId, 'why', { kind: 'delivery', id: messageId }),
        state(held ? 'held' : is),
        organisationId,
        linked(subscriptionId, 'history', { kind: 'subscription', id: subscriptionId }),
        about === undefined ? '' : linked(about, 'history', { kind, id: about }),
        short(rest),
      ];
    }),
  };
  return [table, ...nextPage(deliveries, asked, nextCursor(next))];
}
