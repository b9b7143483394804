import { createHash } from 'node:crypto';
import { amended, enter, iso, type KnownTransaction, type Listed, rule } from './known-transaction';

/**
 * What the API has to answer about transactions, written from Document 2 and decisions T1 to T7, N1 and N2 without any
 * of the product's code.
 */

export interface ModelEvent {
  readonly id: number;
  readonly kind: 'sale' | 'lead';
  readonly pendingDays: number;
  readonly autoDeny: boolean;
  /** Whole per cent, or an amount as it is written. */
  readonly commission: { readonly percent: number } | { readonly fixed: number };
}

export interface ModelProgram {
  readonly id: number;
  readonly organisationId: number;
  readonly country: string;
  readonly currency: string;
  readonly status: 'active' | 'paused' | 'closed';
  readonly invoicesPaid: boolean;
  readonly events: readonly ModelEvent[];
}

/** The network as it is at present. */
export interface ModelNetwork {
  readonly programs: readonly ModelProgram[];
  /** `<site> <program>`. */
  readonly connections: ReadonlySet<string>;
  readonly siteNames: ReadonlyMap<number, string>;
}

/** A posted report; amounts in units, times in epoch ms. */
export interface ModelReport {
  readonly programId: number;
  readonly eventId: number;
  readonly siteId: number;
  readonly orderNumber: string;
  readonly epi: string;
  readonly validate?: boolean;
  readonly orderValue?: number;
  readonly publisherCommission?: number;
  readonly eventTypeId?: number;
  readonly timeOfEvent?: number;
  readonly timeOfVisit?: number;
  readonly epi2?: string;
  readonly visitorId?: string;
  readonly reportInfo?: string;
}

export interface ModelRequest {
  readonly action: 'approve' | 'deny' | 'delete' | 'amend' | 'validate' | 'invalidate' | 'pay';
  readonly deniedReasonId?: number;
  readonly paymentId?: number;
  readonly orderValue?: number;
  readonly publisherCommission?: number;
}

/** An organisation, or an operator. */
export type ModelCaller = number | 'operator';

/** The state, or the codes of faults. */
export type Expected = number | readonly string[];

/** Items of orders, and the attributes that they become (decisions T2). */
export const REPORT_INFOS: Readonly<Record<string, Listed>> = {
  'f1=a&f2=Wall%20lamp&f3=1.50&f4=2': {
    ...{ productNumber: 'a', productName: 'Wall lamp', productValue: '1.50', productQuantity: '2' },
  },
  'f1=b|f1=c&f4=3': { productNumber: 'b|c', productQuantity: '|3' },
  'f1=a%7Cb%2525|f1=c%2F': { productNumber: 'a%7Cb%2525|c/' },
};

/** Amounts are ten-thousandths here: no currency has more decimals (decisions A19). */
const parts = (amount: number) => Math.round(amount * 10_000);
/** The minor unit of a currency in ten-thousandths. */
const unitOf = (currency: unknown) => 10 ** (4 - (DECIMALS[String(currency)] ?? 2));
const DECIMALS: Readonly<Record<string, number>> = { JPY: 0, KWD: 3 };

/** A fault for each amount with more decimals than its currency. */
const oddAmounts = (currency: unknown, ...amounts: readonly (number | undefined)[]): readonly string[] =>
  amounts.filter((amount = 0) => parts(amount) % unitOf(currency) !== 0).map(() => 'CON_350');

export class TransactionModel {
  readonly all = new Map<string, KnownTransaction>();

  constructor(public network: ModelNetwork) {}

  /** The id of a report's transaction (decisions T1). */
  static idOf(
    { orderNumber, eventId, programId }: Pick<ModelReport, 'orderNumber' | 'eventId' | 'programId'>,
    organisationId: number,
  ): string {
    return createHash('sha256')
      .update(`${orderNumber}_${eventId}_${organisationId}_program${programId}`)
      .digest('hex')
      .slice(0, 32);
  }

  /** Decisions T2, T3, T7. */
  report(report: ModelReport, caller: ModelCaller, now: number): Expected {
    const { programId, eventId, siteId, orderNumber } = report;
    const anyhow = [
      ...(report.timeOfEvent !== undefined && report.timeOfEvent > now + 300_000 ? ['CON_350'] : []),
      ...(this.network.siteNames.has(siteId) ? [] : ['CON_430']),
    ];
    const program = this.network.programs.find(({ id }) => id === programId);
    if (program === undefined) return ['CON_220', ...anyhow];
    if (caller !== 'operator' && caller !== program.organisationId) return ['CON_230', ...anyhow];
    const { currency } = program;
    const event = program.events.find(({ id }) => id === eventId);
    const odd = oddAmounts(currency, report.orderValue, report.publisherCommission);
    if (event === undefined) return ['CON_240', ...anyhow, ...odd];
    const isSale = event.kind === 'sale';
    const { eventTypeId = isSale ? 5 : 4, orderValue, timeOfEvent = now, timeOfVisit } = report;
    const faults = [
      ...anyhow,
      ...odd,
      ...(isSale === (eventTypeId === 5 || eventTypeId === 10) ? [] : ['CON_350']),
      ...(isSale && orderValue === undefined ? ['CON_350'] : []),
    ];
    if (faults.length > 0) return faults;
    const value = parts(orderValue ?? 0);
    const commission =
      report.publisherCommission === undefined
        ? termsOf(event, value, currency)
        : parts(report.publisherCommission);
    const id = TransactionModel.idOf(report, program.organisationId);
    const reported: Listed = {
      ...report,
      ...{ orderValue: value / 10_000, publisherCommission: commission / 10_000, eventTypeId, timeOfEvent },
    };
    const before = this.all.get(id);
    if (before !== undefined) return repeated(before, report);
    const { epi, epi2, reportInfo, visitorId } = report;
    const known: KnownTransaction = {
      ...{ id, organisationId: program.organisationId, reported, programId, eventId, siteId },
      fixed: {
        ...{ advertiserId: program.organisationId, currencyId: program.currency, epi, eventId, eventTypeId },
        ...{ orderNumber, programCountry: program.country, programId, siteId, tdCommission: 0 },
        siteName: this.network.siteNames.get(siteId) ?? '',
        timeOfEvent: iso(timeOfEvent),
        legacyTransactionId: `${orderNumber}_${eventId}_${program.organisationId}`,
        ...(epi2 === undefined ? {} : { epi2 }),
        ...(timeOfVisit === undefined ? {} : { timeOfVisit: iso(timeOfVisit) }),
        ...(reportInfo === undefined ? {} : REPORT_INFOS[reportInfo]),
      },
      wasHeld: report.validate === false,
      isVisitLate: timeOfVisit !== undefined && timeOfVisit > timeOfEvent,
      time: timeOfEvent,
      ...(reportInfo === undefined ? {} : { reportInfo }),
      ...(visitorId === undefined ? {} : { visitorId }),
      byTerms: (amount) => termsOf(event, amount, currency),
      ...{ orderValue: value, commission, state: 0, events: 0, history: [] },
    };
    this.all.set(id, known);
    enter(known, 1, now);
    if (report.validate !== false) this.validate(known, now);
    return known.state;
  }

  /** Decisions T1, T5; `byLegacyId`: the request names it so. */
  move(
    id: string,
    request: ModelRequest,
    caller: ModelCaller,
    now: number,
    byLegacyId: boolean = false,
  ): Expected {
    const { action } = request;
    if (action === 'pay' && caller !== 'operator') return ['CON_330'];
    const known = this.all.get(id);
    if (known === undefined || (caller !== 'operator' && caller !== known.organisationId)) return ['CON_500'];
    if (byLegacyId && this.isAmbiguous(known)) return ['CON_550'];
    const odd = oddAmounts(known.fixed['currencyId'], request.orderValue, request.publisherCommission);
    if (odd.length > 0) return odd;
    const { state } = known;
    const isIn = (...states: readonly number[]) => states.includes(state);
    const reason = request.deniedReasonId ?? (action === 'approve' ? 21 : 22);
    switch (action) {
      case 'approve':
        if (isIn(5, 6, 9)) return differs(known, request) ? ['CON_520'] : state;
        if (!isIn(4)) return ['CON_520'];
        this.amend(known, request);
        return rule(known, 6, reason, now);
      case 'deny':
        if (isIn(8)) return differs(known, request) ? ['CON_520'] : state;
        return isIn(4) ? rule(known, 8, reason, now) : ['CON_520'];
      case 'delete':
        if (isIn(8)) return differs(known, request) ? ['CON_520'] : state;
        return isIn(4, 5, 6) ? rule(known, 8, reason, now) : ['CON_520'];
      case 'validate':
        if (isIn(1, 3)) this.validate(known, now);
        return known.state;
      case 'invalidate':
        return isIn(2) ? state : isIn(1, 3) ? enter(known, 2, now) : ['CON_520'];
      case 'pay':
        if (isIn(9) && known.paymentId === request.paymentId) return state;
        if (!isIn(5, 6)) return ['CON_520'];
        known.paymentId = request.paymentId ?? 0;
        return enter(known, 9, now);
      case 'amend': {
        const { orderValue, commission } = known;
        this.amend(known, request);
        if (orderValue === known.orderValue && commission === known.commission) return state;
        if (isIn(4)) return amended(known, now);
        Object.assign(known, { orderValue, commission });
        return ['CON_520'];
      }
    }
  }

  /** Another program of the advertiser has a transaction of the same event and order number (decisions T1). */
  isAmbiguous({ id, fixed }: KnownTransaction): boolean {
    const name = (one: Listed) => one['legacyTransactionId'];
    return [...this.all.values()].some((one) => one.id !== id && name(one.fixed) === name(fixed));
  }

  /** Decisions T4: what the system does by itself. */
  tick(now: number): void {
    for (const known of this.all.values()) {
      if (known.state === 4 && known.due !== undefined && known.due.at <= now)
        rule(known, known.due.deny ? 8 : 6, known.due.deny ? 4 : 3, now);
      else if (known.state === 3) this.validate(known, now);
    }
  }

  private amend(known: KnownTransaction, { orderValue, publisherCommission }: ModelRequest): void {
    // By the terms of the report (decisions T8).
    const follows = known.byTerms(known.orderValue) === known.commission;
    if (orderValue !== undefined) {
      known.orderValue = parts(orderValue);
      if (follows) known.commission = known.byTerms(known.orderValue);
    }
    if (publisherCommission !== undefined) known.commission = parts(publisherCommission);
  }

  /** Document 2, States and transitions: where a Tracked or Paused transaction goes; a Paused one may stay. */
  private validate(known: KnownTransaction, now: number): void {
    const program = this.network.programs.find(({ id }) => id === known.programId);
    const event = program?.events.find(({ id }) => id === known.eventId);
    const { status = 'removed', invoicesPaid = false } = program ?? {};
    const wasPaused = known.state === 3;
    if (wasPaused && status === 'paused') return;
    if (wasPaused && status === 'closed' && !invoicesPaid) return void enter(known, 7, now);
    const isConnected = this.network.connections.has(`${known.siteId} ${known.programId}`);
    const isClosed = status === 'closed' && !wasPaused;
    if (event === undefined || isClosed || !isConnected || known.isVisitLate)
      return void enter(known, 2, now);
    if (status === 'paused') return void enter(known, 3, now);
    if (event.pendingDays === 0) return void enter(known, 5, now);
    known.due = { at: now + event.pendingDays * 86_400_000, deny: event.autoDeny };
    enter(known, 4, now);
  }
}

function termsOf({ commission }: ModelEvent, value: number, currency: unknown): number {
  if ('fixed' in commission) return parts(commission.fixed);
  const unit = unitOf(currency);
  return Math.floor((value * commission.percent + 50 * unit) / (100 * unit)) * unit;
}

/** Decisions T2: a repeated report agrees in every field that it contains. */
function repeated({ reported, wasHeld, state }: KnownTransaction, report: ModelReport): Expected {
  const first: Listed = { ...reported, validate: !wasHeld };
  return Object.entries(report).some(([name, value]) => first[name] !== value) ? ['CON_510'] : state;
}

/** Decisions T5: a repeated request has sent something else than what is stored. */
function differs(
  { orderValue, commission, ruling }: KnownTransaction,
  { orderValue: value, publisherCommission, deniedReasonId }: ModelRequest,
): boolean {
  return (
    (value !== undefined && parts(value) !== orderValue) ||
    (publisherCommission !== undefined && parts(publisherCommission) !== commission) ||
    (deniedReasonId !== undefined && deniedReasonId !== ruling?.reason)
  );
}
