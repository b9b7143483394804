import { createHash } from 'node:crypto';
import { type RecordedEvent } from '../../../src/kernel/event';
import { type SubscriptionContent } from '../../../src/domain/subscriptions/subscription';
import { type Occurrence } from '../../../src/domain/subscriptions/topic';

/**
 * What is due because of a log, written from Document 2 and the decisions without any of the matcher's code: for each
 * event it looks at everything before it.
 */

/** A message as the model expects it. */
export interface Expected {
  readonly id: string;
  readonly to: string;
  readonly url?: string;
  readonly rate?: number;
  /** The currencies between which it awaits a rate. */
  readonly awaits?: string;
}

interface Known {
  readonly id: string;
  readonly organisationId: number;
  readonly content: SubscriptionContent;
}

interface Data {
  readonly receiver?: string;
  readonly message?: string;
  readonly stateId?: number;
  readonly at?: string;
  readonly rates?: Readonly<Record<string, number>>;
}

const dataOf = ({ data }: RecordedEvent) => JSON.parse(data) as Data;

/** Of the events up to each event; `example` is what a test is about. */
export function expectedOf(
  events: readonly RecordedEvent[],
  example: (stateId: number, at: Date) => Occurrence,
): readonly Expected[] {
  return events.flatMap((event, at) => {
    const before = events.slice(0, at + 1);
    const active = activeIn(before);
    const rates = before.findLast(({ stream }) => stream === 'exchange-rates');
    if (event.type === 'ClaimMoved') {
      const occurrence = dataOf(event) as unknown as Occurrence;
      const parties = [...new Set(occurrence.parties)];
      const toEach = parties.map((party) =>
        active
          .filter((known) => known.organisationId === party && isSelected(known.content, occurrence))
          .flatMap((known) => messagesOf(event, known, occurrence, rates)),
      );
      // Organisations take turns.
      const longest = Math.max(0, ...toEach.map(({ length }) => length));
      return Array.from({ length: longest }, (_, turn) =>
        toEach.flatMap((messages) => messages[turn] ?? []),
      ).flat();
    }
    const asked = active.find(({ id }) =>
      [`subscription-${id}`, `deliveryrequests-${id}`].includes(event.stream),
    );
    if (asked === undefined) return [];
    const { receiver, message, stateId, at: time } = dataOf(event);
    if (event.type === 'RedeliveryRequested') return [{ id: message ?? '', to: `again ${asked.id}` }];
    if (event.type === 'ProbeRequested') return [{ id: receiver ?? '', to: `probe ${asked.id}` }];
    if (event.type === 'RedeliveriesCancelled') {
      const urls = new Set(asked.content.receivers.map(({ receiverUrl }) => receiverUrl));
      return [...urls].map((url) => ({ id: receiverId(asked.id, url), to: `withdraw ${asked.id}` }));
    }
    if (event.type !== 'TestRequested') return [];
    return messagesOf(event, asked, example(stateId ?? 0, new Date(time ?? '')), rates).filter(
      ({ id }) => id === messageId(event.id, receiver ?? ''),
    );
  });
}

/** In the order of their creation. */
function activeIn(events: readonly RecordedEvent[]): readonly Known[] {
  return events
    .filter(({ type }) => type === 'SubscriptionCreated')
    .flatMap(({ stream, data }) => {
      const own = events.filter((event) => event.stream === stream);
      if (own.some(({ type }) => type === 'SubscriptionDeleted')) return [];
      const { organisationId } = JSON.parse(data) as { organisationId: number };
      const last = own.findLast(
        ({ type }) => type === 'SubscriptionCreated' || type === 'SubscriptionReplaced',
      )!;
      const { subscription } = JSON.parse(last.data) as { subscription: SubscriptionContent };
      return [{ id: stream.replace('subscription-', ''), organisationId, content: subscription }];
    });
}

function isSelected({ filter, siteId }: SubscriptionContent, occurrence: Occurrence): boolean {
  const wanted = [
    [filter.programIds, occurrence.programId],
    [filter.siteIds, occurrence.siteId],
    [siteId === undefined ? undefined : [siteId], occurrence.siteId],
    [filter.eventIds, occurrence.eventId],
    [filter.eventTypeIds, occurrence.eventTypeId],
    [filter.stateIds, occurrence.stateId],
  ] as const;
  return wanted.every(([list, id]) => list === undefined || list.some((one) => one === id));
}

function messagesOf(
  event: RecordedEvent,
  { id, content }: Known,
  occurrence: Occurrence,
  rates: RecordedEvent | undefined,
): readonly Expected[] {
  if (content.disabled === true) return [];
  const values: Record<string, string | number> = { ...occurrence.attributes };
  const to = content.currencyConversion?.to;
  const known: Record<string, number> = rates === undefined ? {} : { EUR: 1, ...dataOf(rates).rates };
  let rate: number | undefined;
  const [bought, sold] = [known[to ?? ''], known[occurrence.currencyId]];
  if (to !== undefined && to !== occurrence.currencyId && bought !== undefined && sold !== undefined) {
    rate = bought / sold;
    // The rates of the tests are powers of two: nothing is rounded before.
    for (const name of occurrence.amounts)
      if (name in values) values[name] = Math.round(Number(values[name]) * 100 * rate) / 100;
    values['currencyId'] = to;
  }
  const custom = content.customAttribute;
  const rule = custom?.rules.find(({ inputs }) =>
    inputs.every((input, at) => input === String(values[custom.tdAttributes[at] ?? ''] ?? '')),
  );
  if (custom !== undefined && rule !== undefined) values[custom.userAttribute] = rule.output;
  const enabled = (url: string): boolean =>
    content.receivers.some(({ receiverUrl, disabled }) => receiverUrl === url && disabled !== true);
  const receivers = new Set(content.receivers.map(({ receiverUrl }) => receiverUrl).filter(enabled));
  // Decisions N12.
  const { currencyId, amounts } = occurrence;
  const isWithoutRate = to !== undefined && to !== currencyId && rate === undefined;
  const hidden = [
    ...amounts,
    ...(custom?.tdAttributes.some((name) => amounts.includes(name)) === true ? [custom.userAttribute] : []),
  ];
  const awaitsRate = (url: string): boolean =>
    isWithoutRate && !url.includes('${currencyId}') && hidden.some((name) => url.includes(`\${${name}}`));
  return [...receivers].map((receiverUrl) => ({
    id: messageId(event.id, receiverId(id, receiverUrl)),
    to: id,
    ...(awaitsRate(receiverUrl)
      ? { awaits: `${currencyId} ${to}` }
      : {
          url: receiverUrl.replaceAll(/\$\{(\w+)\}/g, (_, name: string) =>
            encodeURIComponent(String(values[name] ?? '')),
          ),
        }),
    ...(rate === undefined ? {} : { rate }),
  }));
}

/** Decisions N15: hashes in base 32. All receivers of the tests are GET. */
export function receiverId(subscription: string, url: string): string {
  return base32(JSON.stringify([subscription, 'GET', url]), 10);
}

export function messageId(event: string, receiver: string): string {
  return `msg_${base32(`${event} ${receiver}`, 20)}`;
}

function base32(text: string, bytes: number): string {
  const hex = createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, 2 * bytes);
  return BigInt(`0x${hex}`)
    .toString(32)
    .padStart((bytes * 8) / 5, '0');
}
