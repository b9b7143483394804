import { Fault, Faults } from '../../src/kernel/fault';
import { receiversOf } from '../../src/domain/subscriptions/receiver-id';
import { type SubscriptionContent } from '../../src/domain/subscriptions/subscription';
import { TOPICS } from '../../src/domain/topics';
import {
  ChangeSubscription,
  CreateSubscription,
  ReplaceSubscription,
} from '../../src/services/subscriptions/commands';
import { CreateClaims, RuleOnClaims } from '../../src/services/claims/commands';
import { RedeliverMessage } from '../../src/services/subscriptions/deliveries.commands';
import { TestReceiver } from '../../src/services/subscriptions/receivers.commands';
import { MoveTransactions, ReportTransactions } from '../../src/services/transactions/commands';
import { PostVoucher, WithdrawVoucher } from '../../src/services/vouchers/commands';
import { type NetworkFile } from '../../src/network/network-file';
import { type Api } from './host';
import { type Random } from './random';
import { EPOCH } from './simulation';

/** The event that claims are about. */
const CLAIMED = 304;
const EVENTS = [
  { id: 301, name: 'Sale', kind: 'sale', pendingDays: 1, commission: { percent: 5 } },
  { id: 302, name: 'Trial', kind: 'sale', pendingDays: 1, autoDeny: true },
  { id: CLAIMED, name: 'Inquiry', kind: 'sale', pendingDays: 1, inquiry: true, commission: { percent: 5 } },
  { id: 303, name: 'Lead', kind: 'lead', pendingDays: 0, commission: { fixed: 2 } },
] satisfies NonNullable<NetworkFile['programs']>[number]['events'];

const CLAIMS = { acceptsClaims: true, daysToAutoApprove: 1 } as const;

/** The status of program 102 changes. */
export function networkFile(
  status: 'active' | 'paused',
): Pick<NetworkFile, 'organisations' | 'programs' | 'sites' | 'connections'> {
  return {
    organisations: [
      { id: 1, kind: 'advertiser', name: 'Shop' },
      { id: 2, kind: 'advertiser', name: 'Bank' },
      { id: 11, kind: 'publisher', name: 'Blog' },
    ],
    programs: [
      {
        id: 101,
        organisationId: 1,
        name: 'Shop DE',
        country: 'DE',
        currency: 'EUR',
        ...CLAIMS,
        events: EVENTS,
      },
      { id: 102, organisationId: 1, name: 'Shop SE', country: 'SE', currency: 'SEK', status, events: EVENTS },
      { id: 201, organisationId: 2, name: 'Bank', country: 'DE', currency: 'EUR', ...CLAIMS, events: EVENTS },
    ],
    sites: [
      { id: 1101, organisationId: 11, name: 'Blog', url: 'https://blog.example/' },
      { id: 1102, organisationId: 11, name: 'Forum', url: 'https://forum.example/' },
    ],
    connections: [101, 102, 201].flatMap((programId) =>
      [1101, 1102].map((siteId) => ({ siteId, programId })),
    ),
  };
}

const PROGRAMS = [
  { programId: 101, organisationId: 1 },
  { programId: 102, organisationId: 1 },
  { programId: 201, organisationId: 2 },
] as const;
const CALLERS = [
  { organisationId: 1, kind: 'advertiser' },
  { organisationId: 2, kind: 'advertiser' },
  { organisationId: 11, kind: 'publisher' },
] as const;
export const URLS = ['https://a.example/', 'https://b.example/', 'https://c.example/'] as const;

/** How a request has ended, as its client sees it. */
type Answer =
  | { readonly is: 'done'; readonly result: unknown }
  | { readonly is: 'refused'; readonly codes: readonly string[] }
  /** Nobody knows whether it took effect. */
  | { readonly is: 'unknown' };

/** A command as a client sends it, maybe several times. */
export interface Sent {
  readonly name: string;
  readonly what: Readonly<Record<string, unknown>>;
  readonly run: (api: Api) => Promise<unknown>;
  /** When it was sent first, and answered last (ms). */
  sentAt: number;
  answeredAt: number;
  /** How often. */
  times: number;
  answer: Answer;
}

/** What is known to clients by answers. */
export class Known {
  readonly transactions: { readonly id: string; readonly organisationId: number }[] = [];
  readonly vouchers: { readonly id: number; readonly organisationId: number }[] = [];
  readonly subscriptions: { readonly id: string; readonly caller: (typeof CALLERS)[number] }[] = [];

  readonly claims: { readonly id: number; readonly programId: unknown }[] = [];
  /** Messages that receivers have got. */
  readonly messages: { readonly id: string; readonly subscription: string }[] = [];
  private readonly contents = new Map<string, SubscriptionContent>();

  /** Ids of receivers of a subscription, as far as answers have said. */
  receivers(id: string): readonly string[] {
    return [...receiversOf(id, this.contents.get(id) ?? { receivers: [] }).keys()];
  }

  learn({ name, what, answer }: Sent): void {
    if (answer.is !== 'done') return;
    const organisationId = what['organisationId'] as number;
    if (name === 'report') {
      const { transactionId: id } = answer.result as { transactionId: string };
      if (this.transactions.every((one) => one.id !== id)) this.transactions.push({ id, organisationId });
    }
    if (name === 'post voucher')
      this.vouchers.push({ id: (answer.result as { id: number }).id, organisationId });
    if (name === 'file claim')
      for (const id of (answer.result as { ids: readonly number[] }).ids)
        this.claims.push({ id, programId: what['programId'] });
    if (!name.endsWith('subscription')) return;
    const { subscriptionId: id, subscription } = answer.result as {
      subscriptionId: string;
      subscription: { content: SubscriptionContent };
    };
    this.contents.set(id, subscription.content);
    if (name === 'create subscription')
      this.subscriptions.push({ id, caller: what['caller'] as (typeof CALLERS)[number] });
  }
}

const MAKERS = {
  report: 10,
  move: 7,
  'post voucher': 6,
  'withdraw voucher': 2,
  'file claim': 4,
  'rule on claim': 3,
  'create subscription': 1.5,
  'replace subscription': 3,
  'rotate secret': 0.5,
  'test receiver': 1,
  redeliver: 2,
  'delete subscription': 0.7,
} as const;

/** A command drawn by chance, about what is known; undefined if nothing of that kind is known yet. */
export function commandOf(random: Random, known: Known, number: number): Sent | undefined {
  const name = number < 2 ? 'create subscription' : random.weighted(MAKERS);
  const sent = (what: Sent['what'], run: Sent['run']): Sent => ({
    ...{ name, what, run, sentAt: 0, answeredAt: Infinity, times: 0, answer: { is: 'unknown' } },
  });
  switch (name) {
    case 'report': {
      const { programId, organisationId } = random.pick(PROGRAMS);
      const report = {
        ...{ programId, eventId: random.pick([301, 301, 302, 303]), siteId: random.pick([1101, 1102]) },
        ...{
          orderNumber: `o${random.below(40)}`,
          orderValue: random.pick([10, 20]),
          timeOfEvent: EPOCH - 60_000,
        },
      };
      const caller = { organisationId, kind: 'advertiser' } as const;
      return sent({ ...report, organisationId }, async (api) =>
        oneOf(await api.report.execute(new ReportTransactions([report], caller))),
      );
    }
    case 'move': {
      if (known.transactions.length === 0) return undefined;
      const { id: transactionId, organisationId } = random.pick(known.transactions);
      const action = random.weighted({ approve: 4, deny: 2, delete: 2, amend: 2 });
      const request = {
        transactionId,
        action,
        ...(action === 'amend' ? { orderValue: random.between(1, 99) } : {}),
      };
      const caller = { organisationId, kind: 'advertiser' } as const;
      return sent({ ...request, organisationId }, async (api) =>
        oneOf(await api.move.execute(new MoveTransactions([request], caller))),
      );
    }
    case 'post voucher': {
      const { programId, organisationId } = random.pick([PROGRAMS[0], PROGRAMS[2]]);
      const sourceId = random.chance(0.8) ? { sourceId: `s${random.below(8)}` } : {};
      const title = `Voucher ${number}`;
      const dates = { startDate: EPOCH, endDate: EPOCH + 90 * 86_400_000 };
      const posted = {
        ...{ title, programId, voucherTypeId: 4, shortDescription: 's', description: 'd' },
        ...dates,
        ...sourceId,
      };
      return sent({ programId, organisationId, title, ...sourceId }, (api) =>
        api.postVoucher.execute(new PostVoucher(posted, organisationId)),
      );
    }
    case 'withdraw voucher': {
      if (known.vouchers.length === 0) return undefined;
      const { id, organisationId } = random.pick(known.vouchers);
      return sent({ id, organisationId }, (api) =>
        api.withdrawVoucher.execute(new WithdrawVoucher(id, organisationId)),
      );
    }
    case 'file claim': {
      const { programId } = random.pick([PROGRAMS[0], PROGRAMS[2]]);
      const about = {
        programId,
        eventId: CLAIMED,
        orderNumber: `o${random.below(20)}`,
        orderValue: 100,
        expectedCommission: 5,
      };
      const claim = { ...about, affiliateSiteId: 1101, timeStampEvent: '2026-02-20' };
      const posted = { name: 'claims', items: [claim], format: 'json' } as const;
      return sent(about, (api) => api.fileClaims.execute(new CreateClaims(posted, CALLERS[2])));
    }
    case 'rule on claim': {
      if (known.claims.length === 0) return undefined;
      const { id: claimId, programId } = random.pick(known.claims);
      const ruling = { claimId, versionNo: 0, statusIdClaim: random.pick([3, 3, 204]) };
      const posted = { name: 'claimUpdates', items: [ruling], format: 'json' } as const;
      const caller = programId === 201 ? CALLERS[1] : CALLERS[0];
      return sent(ruling, (api) => api.ruleOnClaims.execute(new RuleOnClaims(posted, caller)));
    }
    case 'create subscription': {
      const caller = CALLERS[number % 3] ?? random.pick(CALLERS);
      const posted = contentOf(random);
      const kind = TOPICS.transactions;
      return sent({ caller, posted }, (api) =>
        api.createSubscription.execute(new CreateSubscription(kind, posted, caller)),
      );
    }
    case 'redeliver': {
      const message = known.messages.length === 0 ? undefined : random.pick(known.messages);
      const subscription = known.subscriptions.find(({ id }) => id === message?.subscription);
      if (message === undefined || subscription === undefined) return undefined;
      const which = { topic: TOPICS.transactions, ...subscription };
      return sent({ id: message.id }, async (api) => {
        await api.redeliver.execute(new RedeliverMessage(which, message.id));
      });
    }
    case 'test receiver':
    case 'rotate secret':
    case 'replace subscription':
    case 'delete subscription': {
      if (known.subscriptions.length === 0) return undefined;
      const { id, caller } = random.pick(known.subscriptions);
      const which = { topic: TOPICS.transactions, id, caller };
      if (name === 'delete subscription')
        return sent({ id }, (api) => api.changeSubscription.execute(new ChangeSubscription(which, 'delete')));
      if (name === 'rotate secret')
        return sent({ id }, (api) =>
          api.changeSubscription.execute(new ChangeSubscription(which, 'rotateSecret')),
        );
      if (name === 'test receiver') {
        const receiver = random.pick(known.receivers(id));
        return sent({ id, receiver }, (api) =>
          api.testReceiver.execute(new TestReceiver(which, receiver, { isGone: () => false })),
        );
      }
      const posted = contentOf(random);
      return sent({ id, posted }, (api) =>
        api.replaceSubscription.execute(new ReplaceSubscription(which, posted)),
      );
    }
  }
}

function contentOf(random: Random) {
  const states = [1, 2, 3, 4, 5, 6, 8].filter(() => random.chance(0.8));
  const urls = URLS.filter(() => random.chance(0.5));
  return {
    filter: { messageTypeIds: states.length === 0 ? [4] : states },
    receivers: (urls.length === 0 ? [URLS[0]] : urls).map((url) => ({
      httpMethod: 'GET',
      receiverUrl: `${url}?o=\${orderNumber}`,
    })),
    ...(random.chance(0.3) ? { strictOrder: true } : {}),
  };
}

/** The result of the only item of a list. */
function oneOf({ results: [result] }: { readonly results: readonly object[] }): unknown {
  if (result !== undefined && 'faults' in result) throw new Faults(result.faults as readonly Fault[]);
  return result;
}

/** The codes of a refusal; undefined for another error. */
export function codesOf(error: unknown): readonly string[] | undefined {
  if (error instanceof Faults) return error.faults.map(({ code }) => code);
  return error instanceof Fault ? [error.code] : undefined;
}
