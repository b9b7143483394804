import { isDeepStrictEqual } from 'node:util';
import { type CommandOf, type Decider, type EventOf, type Folded, execute, load } from '../../kernel/decider';
import { type Position, START, type Ids } from '../../kernel/event';
import { faultsOf } from '../../kernel/fault';
import { hash } from 'node:crypto';
import { type EventLog } from '../../kernel/event-log';
import { KeyedAggregates } from '../keys/reservation';

/**
 * A voucher, in the stream `voucher-<id>`.
 *
 * The names and shapes of these events are the storage format: add, never rename.
 */

/** Document 2, Voucher types: `needs` is the field that a voucher of the type requires beyond those that all do. */
export const VOUCHER_TYPES = {
  1: { name: 'Voucher', needs: 'code' },
  2: { name: 'Discount', needs: 'discountAmount' },
  3: { name: 'Free article' },
  4: { name: 'Free shipping' },
  5: { name: 'Raffle' },
  6: { name: 'Promotion' },
} as const satisfies Readonly<
  Record<number, { readonly name: string; readonly needs?: 'code' | 'discountAmount' }>
>;

type VoucherTypeId = keyof typeof VOUCHER_TYPES;

/**
 * What an edit replaces (Document 2, Voucher posted by an advertiser), in a fixed order; dates are ISO 8601 instants.
 */
export interface VoucherContent {
  readonly title: string;
  readonly voucherTypeId: VoucherTypeId;
  readonly code?: string;
  readonly shortDescription: string;
  readonly description: string;
  readonly startDate: string;
  readonly endDate: string;
  /** Ascending; at least one. Absent: any site may use it. */
  readonly siteIds?: readonly number[];
  readonly landingUrl?: string;
  readonly publishStartDate?: string;
  readonly publishEndDate?: string;
  readonly publisherInformation?: string;
  readonly discountAmount?: number;
  readonly isPercentage?: boolean;
  readonly languageId?: string;
}

/** Never changed by an edit. A voucher without a `sourceId` is identified by its id (`docs/decisions.md#v15`). */
interface VoucherOrigin {
  readonly programId: number;
  readonly sourceId?: string;
}

/** `currency`: ISO 4217, that of the program; absent of events that were written before it was recorded. */
interface VoucherData {
  readonly at: string;
  readonly voucher: VoucherContent;
  readonly currency?: string;
}

/** What a voucher was before it was edited or withdrawn: who may have seen it is notified of the change. */
interface ReplacedVoucher extends Omit<VoucherData, 'at'> {
  readonly programId: number;
  readonly phase: VoucherPhase;
}

/** `replaced`: absent of early versions. */
export type VoucherEvent =
  | { readonly type: 'VoucherPublished'; readonly data: VoucherOrigin & VoucherData }
  | { readonly type: 'VoucherRevised'; readonly data: VoucherData & { readonly replaced?: ReplacedVoucher } }
  | EventOf<'VoucherWithdrawn', { replaced?: ReplacedVoucher }>
  | VoucherTurn;

/** By time alone, publishers begin to see it, or cease to; `unseen`: they never have, since nothing ran meanwhile. */
type VoucherTurn =
  | { readonly type: 'VoucherShown'; readonly data: VoucherData & { readonly programId: number } }
  | {
      readonly type: 'VoucherHidden';
      readonly data: VoucherData & { readonly programId: number; readonly unseen?: true };
    };

/** Whether an event is one of its versions (`docs/decisions.md#v17`): by time alone it gets none. */
export function isVersion({ type }: Pick<VoucherEvent, 'type'>): boolean {
  return type !== 'VoucherShown' && type !== 'VoucherHidden';
}

/**
 * Whether publishers see it: not yet, now, or no longer (`docs/decisions.md#v3`). As of the last event: time alone
 * changes it by an event, too.
 */
export type VoucherPhase = 'coming' | 'shown' | 'over';

/** When publishers see a voucher, inclusive (epoch ms). Another program may have written an event without a content. */
function shownIn({ publishStartDate, publishEndDate, endDate = '' }: Partial<VoucherContent> = {}) {
  const from = publishStartDate === undefined ? -Infinity : Date.parse(publishStartDate);
  const until = publishEndDate === undefined ? Infinity : Date.parse(publishEndDate);
  return { from, until: Math.min(until, Date.parse(endDate)) };
}

/** `at`: ISO 8601. */
function phaseAt(voucher: VoucherContent, at: string): VoucherPhase {
  const { from, until } = shownIn(voucher);
  const time = Date.parse(at);
  if (time > until) return 'over';
  return time < from ? 'coming' : 'shown';
}

/** When the phase ends by time alone (epoch ms); undefined: never. */
export function phaseEnd(voucher: VoucherContent, phase: VoucherPhase): number | undefined {
  const { from, until } = shownIn(voucher);
  const end = phase === 'shown' ? until + 1 : Math.min(from, until + 1);
  return phase === 'over' || Number.isNaN(end) ? undefined : end;
}

/** The phase after an event with the content. */
export function phaseAfter({ type, data }: Extract<VoucherEvent, { data: VoucherData }>): VoucherPhase {
  if (type === 'VoucherShown') return 'shown';
  return type === 'VoucherHidden' ? 'over' : phaseAt(data.voucher, data.at);
}

/** Of an amount: that of the program when it was posted, or at the position `postedAt` (`docs/decisions.md#v19`). */
export type VoucherCurrency = { readonly currency: string } | { readonly postedAt: Position };

/** As an event has it. */
export function currencyIn({ currency }: VoucherData, position: Position): VoucherCurrency {
  return currency === undefined ? { postedAt: position } : { currency };
}

export type VoucherState =
  | { readonly status: 'unknown' }
  | ({
      readonly status: 'published';
      readonly voucher: VoucherContent;
      readonly currency: VoucherCurrency;
      readonly phase: VoucherPhase;
    } & VoucherOrigin)
  | ({ readonly status: 'withdrawn' } & VoucherOrigin);

/** The present currency of a program, and the position from which it has had it. */
interface ProgramCurrency {
  readonly code: string;
  readonly since: Position;
}

export type VoucherCommand =
  | CommandOf<'post', VoucherOrigin & { voucher: VoucherContent; currency: ProgramCurrency }>
  | CommandOf<'withdraw'>
  /** Has the phase be that of the time. */
  | CommandOf<'turn'>;

export const VOUCHER = 'voucher';

/**
 * A post publishes a new voucher and revises an existing one, unless it changes nothing. A withdrawn voucher stays
 * withdrawn: a post does nothing, and neither does withdrawing what is not published. The returned state shows which.
 */
export const voucherDecider: Decider<VoucherCommand, VoucherState, VoucherEvent> = {
  category: VOUCHER,
  initial: { status: 'unknown' },
  // A turn without a currency leaves the one that was recorded before.
  supersedes: (event) => isVersion(event) || 'currency' in event.data,
  decide(command, state) {
    switch (command.do) {
      case 'post': {
        const { at, voucher } = command;
        const posted = { at, voucher, currency: command.currency.code };
        if (state.status === 'unknown')
          return [{ type: 'VoucherPublished', data: { ...originOf(command), ...posted } }];
        if (state.status === 'withdrawn') return [];
        const isSame = isDeepStrictEqual(voucher, state.voucher) && isInCurrency(state, command.currency);
        if (isSame) return [];
        return [{ type: 'VoucherRevised', data: { ...posted, replaced: replacedOf(state) } }];
      }
      case 'withdraw': {
        if (state.status !== 'published') return [];
        return [{ type: 'VoucherWithdrawn', data: { at: command.at, replaced: replacedOf(state) } }];
      }
      case 'turn':
        return state.status === 'published' ? turned(state, command.at) : [];
    }
  },
  evolve(state, event) {
    switch (event.type) {
      case 'VoucherPublished':
        return { status: 'published', ...originOf(event.data), ...contentOf(event) };
      case 'VoucherRevised':
        return state.status === 'published' ? { ...state, ...contentOf(event) } : state;
      case 'VoucherShown':
      case 'VoucherHidden': {
        if (state.status !== 'published') return state;
        const { currency } = event.data;
        return {
          ...state,
          ...contentOf(event),
          currency: currency === undefined ? state.currency : { currency },
        };
      }
      case 'VoucherWithdrawn':
        return state.status === 'published' ? { status: 'withdrawn', ...originOf(state) } : state;
    }
  },
};

function originOf({ programId, sourceId }: VoucherOrigin): VoucherOrigin {
  return { programId, ...(sourceId === undefined ? {} : { sourceId }) };
}

function contentOf(event: Folded<Extract<VoucherEvent, { data: VoucherData }>>) {
  const { data, position } = event;
  return { voucher: data.voucher, currency: currencyIn(data, position ?? START), phase: phaseAfter(event) };
}

type PublishedVoucher = Extract<VoucherState, { readonly status: 'published' }>;

/** Its content, as events have it. */
function recorded({ programId, voucher, currency }: PublishedVoucher) {
  return { programId, voucher, ...('currency' in currency ? { currency: currency.currency } : {}) };
}

function replacedOf(state: PublishedVoucher): ReplacedVoucher {
  return { ...recorded(state), phase: state.phase };
}

function turned(state: PublishedVoucher, at: string): readonly VoucherTurn[] {
  const { voucher, phase } = state;
  const end = phaseEnd(voucher, phase);
  if (end === undefined || end > Date.parse(at)) return [];
  const data = { at, ...recorded(state) };
  if (phaseAt(voucher, at) === 'shown') return [{ type: 'VoucherShown', data }];
  return [{ type: 'VoucherHidden', data: phase === 'shown' ? data : { ...data, unseen: true } }];
}

/** Whether its amount, if it has one, is in this currency. */
function isInCurrency(
  { voucher, currency }: { readonly voucher: VoucherContent; readonly currency: VoucherCurrency },
  { code, since }: ProgramCurrency,
): boolean {
  if (!isOfMoney(voucher)) return true;
  return 'currency' in currency ? currency.currency === code : currency.postedAt >= since;
}

/** Whether it has an amount of money: a percentage has no currency. */
export function isOfMoney({ discountAmount, isPercentage }: VoucherContent): boolean {
  return discountAmount !== undefined && isPercentage !== true;
}

/** The texts that keywords are found in (`docs/decisions.md#v11`). */
export function textsOf({
  title,
  shortDescription,
  description,
  code = '',
}: VoucherContent): readonly string[] {
  return [title, shortDescription, description, code];
}

/** A published voucher by the names of posted fields. The same amount in another currency is another amount. */
export function postedFields(
  state: VoucherState,
  codeOf: (currency: VoucherCurrency, programId: number) => string,
): Readonly<Record<string, unknown>> | undefined {
  if (state.status !== 'published') return undefined;
  const { voucher, currency, programId } = state;
  const amount = isOfMoney(voucher)
    ? { discountAmount: `${voucher.discountAmount} ${codeOf(currency, programId)}` }
    : {};
  return { ...voucher, ...amount, ...originOf(state) };
}

/** Document 2, Errors: voucher creation. What each is used for: `docs/decisions.md#v14`. */
export const voucherFaultTable = {
  invalidVoucher: ['101', 400, 'Invalid voucher information'],
  noAccess: ['102', 400, 'No access to the program'],
  notConnected: ['103', 400, 'No connection between program and site'],
} as const;

export const voucherFaults = faultsOf(voucherFaultTable);

/** A document of the read model; directory data is joined when answering. Times in epoch ms. */
export interface StoredVoucher {
  readonly programId: number;
  readonly sourceId: string;
  readonly created: number;
  readonly updated: number;
  readonly voucher: VoucherContent;
  readonly currency: VoucherCurrency;
  readonly phase: VoucherPhase;
}

export interface ListedVoucher extends StoredVoucher {
  readonly id: number;
}

/**
 * Who may use a voucher, as texts to compare (`docs/decisions.md#v5`, `#v10`): a voucher has one for each audience, a
 * publisher one for each audience that it belongs to. So a change of connections writes no voucher.
 */
export function audienceOf(programId: number, siteIds: readonly number[] = []): readonly string[] {
  if (siteIds.length === 0) return [anySiteOf(programId)];
  return siteIds.map((siteId) => siteOf(programId, siteId));
}

/** The audiences that these connections of sites to programs belong to. */
export function audiencesIn(
  connections: Iterable<{ readonly siteId: number; readonly programId: number }>,
): readonly string[] {
  const audiences = new Set<string>();
  for (const { siteId, programId } of connections)
    audiences.add(anySiteOf(programId)).add(siteOf(programId, siteId));
  return [...audiences];
}

function anySiteOf(programId: number): string {
  return String(programId);
}

function siteOf(programId: number, siteId: number): string {
  return `${programId}/${siteId}`;
}

/** A checked voucher: to be published, or to replace the one that its `sourceId` identifies. */
export interface VoucherPost {
  readonly programId: number;
  readonly sourceId?: string;
  readonly voucher: VoucherContent;
  readonly currency: ProgramCurrency;
  /** Identifies the request, if it may be repeated. */
  readonly retryKey?: string;
}

/** The id of the voucher, and the position of its last event; without `position` nothing was written. */
export interface WrittenVoucher {
  readonly id: number;
  readonly position?: Position;
}

/**
 * Writes vouchers. A `sourceId` identifies one voucher of a program at a time, even if processes race or are
 * killed (`KeyedAggregates`). The id of a voucher that was posted without one is its `sourceId`.
 *
 * `at` is an ISO 8601 instant. All methods may raise `EngineUnavailable`; repeating them is harmless.
 */
export class VoucherWriter {
  private readonly keyed: KeyedAggregates<VoucherCommand, VoucherState, VoucherEvent>;

  constructor(
    private readonly uuids: Ids,
    private readonly log: EventLog,
  ) {
    this.keyed = new KeyedAggregates(uuids, log, {
      decider: voucherDecider,
      ids: 'voucher',
      keys: 'voucherkey',
      isRemoved: ({ status }) => status === 'withdrawn',
    });
  }

  /** Publishes, or edits the voucher that the `sourceId` identifies (`docs/decisions.md#v2`, `#v15`). */
  async post(post: VoucherPost, at: string): Promise<WrittenVoucher> {
    const { retryKey, ...posted } = post;
    const { programId, sourceId } = posted;
    const command = { do: 'post', ...posted, at } as const;
    const { id, position } =
      sourceId === undefined
        ? await this.keyed.create((own) => keyOf(programId, String(own)), command, at, retryKey)
        : await this.keyed.execute(keyOf(programId, sourceId), command, at);
    return { id, ...(position === undefined ? {} : { position }) };
  }

  /** What `post` would return, without writing anything: the id is 0 for a voucher that does not exist yet. */
  async tryPost({ programId, sourceId }: VoucherPost): Promise<WrittenVoucher> {
    if (sourceId === undefined) return { id: NEW_ID };
    return { id: (await this.keyed.find(keyOf(programId, sourceId))) ?? NEW_ID };
  }

  /** Withdraws a voucher of a program that the caller owns; raises 101 for any other. */
  async withdraw(id: number, owns: (programId: number) => boolean, at: string): Promise<WrittenVoucher> {
    const known = await load(this.log, voucherDecider, id);
    const { state } = known;
    if (state.status === 'unknown' || !owns(state.programId)) throw missing(id);
    const { position } = await execute(
      this.uuids,
      this.log,
      voucherDecider,
      id,
      { do: 'withdraw', at },
      known,
    );
    if (position === undefined) throw missing(id);
    await this.keyed.release(keyOf(state.programId, state.sourceId ?? String(id)), id, at);
    return { id, position };
  }
}

/** Ids count from 1. */
const NEW_ID = 0;

/** The key of a `sourceId` within a program. */
function keyOf(programId: number, sourceId: string): string {
  return hash('sha256', `${programId}:${sourceId}`);
}

function missing(id: number) {
  return voucherFaults.invalidVoucher(`your programs have no voucher ${id}`);
}
