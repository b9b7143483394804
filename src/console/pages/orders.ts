import { type Cell, type Page, section, type Table } from '../content';
import { type Keys, type Operator } from '../operator';
import { linked } from '../render';
import { REASON, SIZE, line, nextNumber, nextPage, short, time } from './common';

interface Claim {
  readonly claimId: number;
  readonly versionNo: number;
  readonly statusId: number;
  readonly statusName: string;
  readonly timeStamp: string;
  readonly programName: string;
  readonly siteName: string;
  readonly orderNumber: string;
  readonly orderValue?: number;
}

interface Transaction {
  /** What is shown depends on the state: one of the two is always there. */
  readonly transactionId?: string;
  readonly legacyTransactionId?: string;
  readonly stateName: string;
  readonly timeOfEvent: string;
  readonly changed: string;
  readonly programId: number;
  readonly siteName?: string;
  readonly orderNumber: string;
  readonly orderValue?: number;
  readonly publisherCommission?: number;
  readonly currencyId: string;
}

export const transactions: Page = {
  name: 'transactions',
  title: 'Transactions',
  inMenu: true,
  fields: (asked) => [
    line(asked, 'orderNumber', 'Order number'),
    line(asked, 'programId', 'Program'),
    line(asked, 'messageTypeId', 'States (ids)'),
    line(asked, 'asOf', 'As of (name)'),
  ],
  sections: (operator, asked) => [
    section('transactions', 'Transactions, the newest first', async () => {
      const { orderNumber, programId, messageTypeId, asOf, page } = asked;
      const keys = {
        ...{ orderNumber, programId, asOf, page, pageSize: SIZE },
        messageTypeId: messageTypeId?.split(','),
      };
      const { answer, total } = await operator.page<readonly Transaction[]>('/ops/1.0/transactions', keys);
      return [
        ...(total === undefined ? [] : [{ is: 'facts', facts: [['Found', total]] } as const]),
        {
          is: 'table',
          columns: [
            'Transaction',
            'Time',
            'State',
            'Changed',
            'Program',
            'Site',
            'Order',
            'Value',
            'Commission',
            'Currency',
          ],
          none: 'No transactions.',
          rows: answer.map((one) => [
            transactionLink(one),
            time(one.timeOfEvent),
            one.stateName,
            time(one.changed),
            one.programId,
            one.siteName ?? '',
            one.orderNumber,
            one.orderValue,
            one.publisherCommission,
            one.currencyId,
          ]),
        },
        ...nextPage(transactions, asked, nextNumber(asked, answer.length)),
      ];
    }),
  ],
};

function transactionLink({ transactionId, legacyTransactionId }: Transaction): Cell {
  const id = transactionId ?? legacyTransactionId;
  return id === undefined ? undefined : linked(short(id), 'history', { kind: 'transaction', id });
}

export const claims: Page = {
  name: 'claims',
  title: 'Claims',
  inMenu: true,
  fields: (asked) => [
    line(asked, 'claimId', 'Id'),
    line(asked, 'programId', 'Program'),
    line(asked, 'statusId', 'Statuses (100,105 if none is given)'),
  ],
  sections: (operator, asked) => [
    section('claims', 'Claims', async () => {
      const { claimId, programId, statusId, offset = '0' } = asked;
      const keys = { claimId, programId, statusId: statusId?.split(','), offset, limit: SIZE };
      const table = await claimTable(operator, keys);
      const isFull = table.rows.length === SIZE;
      return [
        table,
        ...nextPage(claims, asked, isFull ? { offset: String(Number(offset) + SIZE) } : undefined),
      ];
    }),
  ],
  actions: {
    release: async (operator, { claimId = '', versionNo, reason }) => {
      await operator.change('POST', `/ops/1.0/claims/${encodeURIComponent(claimId)}/release`, {
        versionNo,
        reason,
      });
      return `Claim ${claimId} awaits the approval of its advertiser.`;
    },
    reject: async (operator, { claimId = '', versionNo, statusId, message, reason }) => {
      const keys = { versionNo, statusId, message, reason };
      await operator.change('POST', `/ops/1.0/claims/${encodeURIComponent(claimId)}/reject`, keys);
      return `Claim ${claimId} is rejected.`;
    },
  },
};

/** Statuses that operators decide. */
const AT_NETWORK = [100, 105];

export async function claimTable(operator: Operator, keys: Keys): Promise<Table> {
  const found = await operator.get<readonly Claim[]>('/ops/1.0/claims', keys);
  return {
    is: 'table',
    columns: ['Claim', 'Filed', 'Status', 'Program', 'Site', 'Order', 'Value', 'Decide'],
    none: 'No claims.',
    rows: found.map((one) => {
      const known = { claimId: one.claimId, versionNo: one.versionNo };
      const isPending = AT_NETWORK.includes(one.statusId);
      return [
        linked(String(one.claimId), 'history', { kind: 'claim', id: one.claimId }),
        one.timeStamp,
        `${one.statusName} (${one.statusId})`,
        one.programName,
        one.siteName,
        one.orderNumber,
        one.orderValue,
        isPending ? linked('decide', 'claim', known) : '',
      ];
    }),
  };
}

/** Statuses by which operators reject (Document 3, Statuses), of those that need no message first. */
const REJECTIONS = ['211', '111', '201'] as const;

export const claim: Page = {
  name: 'claim',
  title: 'Decide a claim',
  inMenu: false,
  sections: (operator, { claimId, versionNo }) => [
    section('claim', `Claim ${claimId ?? ''}`, async () => {
      const known = { claimId: claimId ?? '', versionNo: versionNo ?? '' };
      const statusId = [...AT_NETWORK.map(String)];
      return [
        await claimTable(operator, { claimId, statusId }),
        { is: 'action', name: 'release', label: 'Release to its advertiser', known, fields: [REASON] },
        {
          is: 'action',
          name: 'reject',
          label: 'Reject',
          known,
          fields: [
            { name: 'statusId', label: 'With status', value: REJECTIONS[0], isRequired: true },
            { name: 'message', label: 'Message for its publisher' },
            REASON,
          ],
        },
      ];
    }),
  ],
  ...(claims.actions === undefined ? {} : { actions: claims.actions }),
};
