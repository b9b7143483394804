import { TransactionModel } from '../../support/transaction-model';
import { TransactionCommands } from '../../../src/services/transactions/commands';
import { type Command, oneOf } from '../clients';
import { type ApiParts } from '../host';
import { EPOCH } from '../simulation';
import { PROGRAMS } from './network-file';

const commands = ({ clock, engines: { log }, follower, visible }: ApiParts) =>
  new TransactionCommands(clock, log, visible, follower);

interface Report {
  readonly organisationId: number;
  readonly programId: number;
  readonly eventId: number;
  readonly siteId: number;
  readonly orderNumber: string;
  readonly orderValue: number;
}

interface Recorded {
  readonly transactionId: string;
  readonly outcome: string;
}

export const report: Command<Report, Recorded> = {
  name: 'report',
  hasKeys: true,
  weight: 10,
  draw: (random) => ({
    ...random.pick(PROGRAMS),
    eventId: random.pick([301, 301, 302, 303]),
    siteId: random.pick([1101, 1102]),
    orderNumber: `o${random.below(40)}`,
    orderValue: random.pick([10, 20]),
  }),
  run: async (api, { organisationId, ...reported }) => {
    const items = [{ ...reported, timeOfEvent: EPOCH - 60_000 }];
    const caller = { organisationId, kind: 'advertiser' } as const;
    return oneOf(await api.of(commands).report(items, caller));
  },
  stream: (what) => streamOf(TransactionModel.idOf(what, what.organisationId)),
  asksFor: { TransactionTracked: true },
  happensIn: (_, { transactionId }) => [streamOf(transactionId)],
  isNew: ({ outcome }) => outcome === 'created',
};

const streamOf = (transactionId: string): string => `transaction-${transactionId}`;

interface Move {
  readonly organisationId: number;
  readonly transactionId: string;
  readonly action: 'approve' | 'deny' | 'delete' | 'amend';
  readonly orderValue?: number;
}

export const move: Command<Move, Recorded> = {
  name: 'move',
  weight: 7,
  draw: (random, clients) => {
    const reported = clients.done(report);
    if (reported.length === 0) return undefined;
    const { what, result } = random.pick(reported);
    const action = random.weighted({ approve: 4, deny: 2, delete: 2, amend: 2 });
    return {
      ...{ organisationId: what.organisationId, transactionId: result.transactionId, action },
      ...(action === 'amend' ? { orderValue: random.between(1, 99) } : {}),
    };
  },
  run: async (api, { organisationId, ...request }) => {
    const caller = { organisationId, kind: 'advertiser' } as const;
    return oneOf(await api.of(commands).transition([request], caller));
  },
  stream: ({ transactionId }) => streamOf(transactionId),
  asksFor: {
    TransactionPendingApproved: ({ action }) => action === 'approve',
    TransactionDeleted: ({ action }) => action === 'deny' || action === 'delete',
    TransactionAmended: ({ action }) => action === 'amend',
  },
  happensIn: ({ transactionId }, { outcome }) => (outcome === 'moved' ? [streamOf(transactionId)] : []),
};
