import { type ClaimContent } from '../../../src/domain/claims/claim';
import { type Clients, type Happened, type Sent, textOf } from '../clients';
import { fileClaims, reviseClaim } from '../workloads/claims';
import { CLAIMED } from '../workloads/network-file';
import { createSubscription } from '../workloads/subscriptions';
import { postVoucher } from '../workloads/vouchers';
import { require } from './broken';
import { type Check, happenedIn } from './check';

/** Commands that were acknowledged, the first answer first. */
const acknowledged: Check = {
  promise:
    'What was acknowledged has happened, before its answer, and once for each answer that says that it happened now (T1, T5, C3, C9, N13, V15).',
  verify: (world) => {
    const answered = world.clients.sent.filter(({ answer }) => answer.is === 'done');
    const taken = new Set<Happened>();
    for (const one of answered.sort((a, b) => a.answeredAt - b.answeredAt)) {
      const { answer, command, sentAt, answeredAt } = one;
      if (answer.is !== 'done') continue;
      const isNew = command.isNew?.(answer.result) !== false;
      for (const stream of streamsOf(one, answer.result)) {
        const found = happenedIn(world)
          .get(stream)
          ?.find(
            (event) =>
              event.time <= answeredAt &&
              asksFor(one, event) &&
              !(isNew && (event.time < sentAt || taken.has(event))),
          );
        require(found !== undefined, () =>
          `${textOf(one)} was acknowledged, but has not happened in ${stream}`);
        if (isNew) taken.add(found);
      }
    }
  },
};

function streamsOf({ command, what }: Sent, result: unknown): readonly string[] {
  return command.happensIn?.(what, result) ?? (command.stream === undefined ? [] : [command.stream(what)]);
}

function asksFor({ command, what }: Sent, event: Happened): boolean {
  const isIt = command.asksFor?.[event.type] as
    true | ((what: object, event: Happened) => boolean) | undefined;
  if (isIt === undefined || (command.stream?.(what) ?? event.stream) !== event.stream) return false;
  return isIt === true || isIt(what, event);
}

const asked: Check = {
  promise:
    'Nothing happens that nobody has asked for, or that the system has to do by itself (T4, C10, C11).',
  verify: (world) => {
    const types = new Set(world.clients.sent.flatMap(({ command }) => Object.keys(command.asksFor ?? {})));
    const claims = claimsOf(world.clients);
    for (const [stream, events] of happenedIn(world))
      for (const [at, event] of events.entries()) {
        if (!types.has(event.type) || isBySystem(event, events.slice(0, at), claims)) continue;
        const isAsked = world.clients.sent.some((one) => one.sentAt <= event.time && asksFor(one, event));
        require(isAsked, () => `${stream}: nobody has asked for ${event.type} ${JSON.stringify(event.data)}`);
      }
  },
};

/** Programs and orders that claims are about. */
function claimsOf(clients: Clients): ReadonlySet<string> {
  const claims = [
    ...clients.of(fileClaims).flatMap(({ what }) => what.claims),
    ...clients.of(reviseClaim).map(({ what }) => what.claim),
  ];
  return new Set(claims.map(orderOf));
}

const orderOf = ({ programId, orderNumber }: Pick<ClaimContent, 'programId' | 'orderNumber'>): string =>
  `${programId} ${orderNumber}`;

/** Automatic denials and approvals (Document 2, Denied reason IDs). */
const AUTOMATIC: readonly number[] = [3, 4];

function isBySystem(event: Happened, before: readonly Happened[], claims: ReadonlySet<string>): boolean {
  switch (event.type) {
    case 'TransactionTracked':
    case 'TransactionPendingApproved':
    case 'TransactionDeleted': {
      const { transaction } = event.data;
      const isClaimed = CLAIMED.some((id) => id === transaction.eventId) && claims.has(orderOf(transaction));
      return isClaimed || ('deniedReasonId' in event.data && AUTOMATIC.includes(event.data.deniedReasonId));
    }
    case 'ClaimRuled': {
      const screened = before.findLast(({ type }) => type === 'ClaimScreened');
      if (event.data.by !== 'system' || screened?.type !== 'ClaimScreened') return false;
      const { statusId, autoApproveAt = '9' } = screened.data;
      return statusId === 2 && event.data.statusId === 3 && autoApproveAt <= event.data.at;
    }
    // One that was never filed has lost its key.
    case 'ClaimWithdrawn':
      return before.length === 0;
    default:
      return false;
  }
}

const once: Check = {
  promise:
    'A post with an `Idempotency-Key` creates one subscription, or voucher without a `sourceId`, however often it is sent (A22); without a key, no more than it was sent.',
  verify: (world) => {
    const [events, { clients }] = [happenedIn(world), world];
    const mostOf = ({ key, times }: Pick<Sent, 'key' | 'times'>): number => (key === undefined ? times : 1);
    const subscriptions = [...events.keys()].filter((stream) => stream.startsWith('subscription-')).length;
    const most = clients.of(createSubscription).reduce((sum, one) => sum + mostOf(one), 0);
    require(subscriptions <= most, () => `${subscriptions} subscriptions of ${most} posts`);
    const published = [...events.values()].flatMap(([first]) =>
      first?.type === 'VoucherPublished' ? first.data.voucher.title : [],
    );
    for (const one of clients.of(postVoucher)) {
      // Once one with a sourceId is withdrawn, a repeated post is of a new one (V15).
      if (one.what.sourceId !== undefined) continue;
      const vouchers = published.filter((title) => title === one.what.title).length;
      require(vouchers <= mostOf(one), () => `${textOf(one)}: ${vouchers} vouchers`);
    }
  },
};

/** Events after which there is nothing more of their streams. */
const LAST: readonly Happened['type'][] = ['VoucherWithdrawn', 'ClaimWithdrawn', 'SubscriptionDeleted'];

const ended: Check = {
  promise: 'What was withdrawn or deleted stays so.',
  verify: (world) => {
    for (const [stream, events] of happenedIn(world))
      for (const { type } of events.slice(0, -1))
        require(!LAST.includes(type), () => `${stream} continues after ${type}`);
  },
};

/** What nobody else may have meanwhile: the key after an event, '' without one; undefined: as before. */
function keyAfter(event: Happened): string | undefined {
  switch (event.type) {
    case 'VoucherPublished':
      return event.data.sourceId && `voucher ${event.data.programId} ${event.data.sourceId}`;
    case 'ClaimFiled':
    case 'ClaimRevised': {
      const { programId, orderNumber, eventId, transactionDate } = event.data.claim;
      return `claim ${[programId, orderNumber, eventId, transactionDate].join()}`;
    }
    case 'VoucherWithdrawn':
    case 'ClaimWithdrawn':
      return '';
    default:
      return undefined;
  }
}

const keys: Check = {
  promise:
    'A key has one owner at a time, whoever posts, updates and deletes: a claim (C4), or the voucher of a `sourceId` of a program (V15).',
  verify: (world) => {
    const [owners, held] = [new Map<string, string>(), new Map<string, string>()];
    for (const event of [...happenedIn(world).values()].flat().sort(inOrder)) {
      const [key, { stream }] = [keyAfter(event), event];
      if (key === undefined) continue;
      owners.delete(held.get(stream) ?? '');
      held.delete(stream);
      if (key === '') continue;
      const owner = owners.get(key);
      require(owner === undefined, () => `${owner ?? ''} and ${stream} have the key ${key}`);
      owners.set(key, stream);
      held.set(stream, key);
    }
  },
};

const inOrder = (a: Happened, b: Happened): number => (a.position < b.position ? -1 : 1);

export const COMMANDS = [acknowledged, asked, once, ended, keys] as const;
