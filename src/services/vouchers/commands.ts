import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  VOUCHER_TYPES,
  voucherFaults as fault,
  type VoucherPost,
  VoucherWriter,
  type WrittenVoucher,
} from '../../domain/vouchers/voucher';
import { VisibleWrites } from '../../http/visible-writes';
import { type Position } from '../../kernel/event';
import { type Fault, faultsIn } from '../../kernel/fault';
import { type Directory } from '../../network/directory';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { inParallel, mapInSlices } from '../../runtime/concurrency';
import { FairQueue } from '../../runtime/fair-queue';
import { isPosted, isUnset, type Origin, type Posted, Refusals, wrong } from '../../wire/api/posted';
import { spellingsIn } from '../../wire/json/scan';
import { amountOf, expectedAmount } from '../../wire/record/minor-units';
import { complete, type FoundIn, recordReader } from '../../wire/record/read';
import { type PostedOf } from '../../wire/record/record';
import { postedVoucher } from './api';
import { DAY } from '../../wire/date';

/** A posted voucher, published or edited: its id, and the position from which listings include it. */
interface PostedVoucher {
  readonly id: number;
  readonly position: Position;
}

interface RefusedVoucher {
  readonly faults: readonly Fault[];
}

/** For each voucher, in their order, its id or why it was refused. */
interface PostResults {
  readonly results: readonly ({ readonly id: number } | RefusedVoucher)[];
  readonly position: Position;
}

interface PostOptions {
  /** Checks everything and stores nothing (`docs/decisions.md#a15`). */
  readonly dryRun?: boolean | undefined;
  /** Identifies the request, if it may be repeated: vouchers without a `sourceId` are created once. */
  readonly requestId?: string | undefined;
}

/** Vouchers of a list written at a time: enough for the log to share its commits. */
const AT_ONCE = 32;

/** Of all lists: each voucher in memory may have some 200 KB. */
const IN_MEMORY = { atOnce: 4 * AT_ONCE, perClient: 2 * AT_ONCE, reserved: AT_ONCE } as const;

/** What advertisers may do with vouchers. What was posted is unchecked (ADR 18). */
@Injectable()
export class VoucherCommands {
  private readonly inMemory = new FairQueue(IN_MEMORY);

  constructor(
    private readonly vouchers: VoucherWriter,
    private readonly visible: VisibleWrites,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
  ) {}

  /**
   * Publishes or edits a voucher as read from a body (Document 2, Endpoints, Vouchers). Raises all faults. `text`: the
   * body, if it was JSON, for messages.
   */
  async post(
    posted: unknown,
    organisationId: number,
    { dryRun, requestId, text }: PostOptions & { readonly text?: string | undefined } = {},
  ): Promise<PostedVoucher> {
    const now = this.clock.now();
    const { directory } = this.follower;
    const post = checkVoucher(posted, { directory, caller: { organisationId }, now, ...spellings(text) });
    const written = await this.write(post, now, { dryRun, requestId });
    return { id: written.id, position: await this.visible.after([written]) };
  }

  /**
   * Several, each on its own; of those with one `sourceId`, only the last valid one (`docs/decisions.md#v17`). `texts`:
   * their JSON, for messages.
   */
  async postAll(
    posted: readonly unknown[],
    organisationId: number,
    { dryRun, requestId, texts = [] }: PostOptions & { readonly texts?: readonly string[] } = {},
  ): Promise<PostResults> {
    const now = this.clock.now();
    const parts = { directory: this.follower.directory, caller: { organisationId }, now };
    const checked = await mapInSlices(posted.entries(), ([at, one]): VoucherPost | RefusedVoucher => {
      try {
        return checkVoucher(one, { ...parts, ...spellings(texts[at]) });
      } catch (error) {
        return refused(error);
      }
    });
    const last = new Map<string | number, VoucherPost>();
    for (const [at, one] of checked.entries()) if (!('faults' in one)) last.set(keyOf(one, at), one);
    const written = new Map<string | number, WrittenVoucher | RefusedVoucher>();
    const write = async ([key, post]: readonly [string | number, VoucherPost]): Promise<void> => {
      const own = requestId === undefined ? undefined : `${requestId} ${key}`;
      const writing = this.inMemory.run(String(organisationId), () =>
        this.write(post, now, { dryRun, requestId: own }),
      );
      written.set(key, await writing.catch(refused));
    };
    // First those with a `sourceId`: it must not stand for a voucher that gets its id in this post
    // (`docs/decisions.md#v15`).
    for (const hasSourceId of [true, false]) {
      const some = [...last].filter(([, { sourceId }]) => (sourceId !== undefined) === hasSourceId);
      await inParallel(some, AT_ONCE, write);
    }
    const done = [...written.values()].flatMap((one) => ('faults' in one ? [] : [one]));
    const position = await this.visible.after(done);
    const results = checked.map((one, at) => {
      const result = 'faults' in one ? one : (written.get(keyOf(one, at)) ?? { id: NaN });
      return 'faults' in result ? result : { id: result.id };
    });
    return { results, position };
  }

  private write(post: VoucherPost, now: Date, { dryRun, requestId }: PostOptions): Promise<WrittenVoucher> {
    if (dryRun === true) return this.vouchers.tryPost(post);
    const retry = requestId === undefined ? {} : { retryKey: hash('sha256', `request ${requestId}`) };
    return this.vouchers.post({ ...post, ...retry }, now.toISOString());
  }

  /** Withdraws a voucher of an organisation's program (Document 2, Endpoints, Vouchers). Raises 101. */
  async withdraw(id: number, organisationId: number): Promise<{ readonly position: Position }> {
    const owns = (programId: number) =>
      this.follower.directory.program(programId)?.organisationId === organisationId;
    const withdrawn = await this.vouchers.withdraw(id, owns, this.clock.now().toISOString());
    return { position: await this.visible.after([withdrawn]) };
  }
}

/** How numbers are spelt in a JSON text. */
function spellings(text: string | undefined): Pick<VoucherCheckParts, 'spelling'> {
  return text === undefined ? {} : { spelling: spellingsIn(text) };
}

function refused(error: unknown): RefusedVoucher {
  return { faults: faultsIn(error) };
}

/** Posts with the same key are of one voucher. A voucher without a `sourceId` is always a new one. */
function keyOf({ programId, sourceId }: VoucherPost, at: number): string | number {
  return sourceId === undefined ? at : `${programId}:${sourceId}`;
}

/** Days that `endDate` may lie ahead (Document 2, Limits; `docs/decisions.md#v16`). */
const MAX_DAYS = 366;
interface VoucherCheckParts extends Pick<Origin, 'spelling'> {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'organisationId'>;
  readonly now: Date;
}

type FoundVoucher = FoundIn<typeof postedVoucher>;

const read = recordReader(postedVoucher);

/** All problems are 101 (`docs/decisions.md#v14`). */
const PROBLEMS = { unusable: fault.invalidVoucher } as const;

/** Checks a posted voucher, JSON or XML alike. Raises everything that is wrong as `Faults`. */
function checkVoucher(posted: unknown, parts: VoucherCheckParts): VoucherPost {
  if (!isPosted(posted)) throw fault.invalidVoucher(wrong('a voucher', posted, 'an object'));
  const refusals = new Refusals(PROBLEMS, {}, Infinity, parts);
  const found = read(posted, refusals);
  checkTimes(found, parts.now, refusals);
  checkNeeds(found, posted, refusals);
  checkAmount(found, parts, refusals);
  checkAccess(found, parts, refusals);
  const { programId, sourceId, ...voucher } = complete<PostedOf<typeof postedVoucher>>(found, refusals);
  const { siteIds } = voucher;
  return {
    programId,
    ...(sourceId === undefined ? {} : { sourceId }),
    voucher: { ...voucher, ...(siteIds === undefined ? {} : { siteIds: ascending(siteIds) }) },
    currency: {
      code: parts.directory.program(programId)?.currency ?? '',
      since: parts.directory.currencies.since(programId),
    },
  };
}

/** Document 2, Limits; `docs/decisions.md#v16`. */
function checkTimes(found: FoundVoucher, now: Date, refusals: Refusals): void {
  for (const [first, last] of PERIODS) {
    const [start, end] = [timeOf(found[first]), timeOf(found[last])];
    if (end <= start)
      refusals.refuse('unusable', `${last} is ${end}: expected a time after ${first}, which is ${start}`);
  }
  const latest = now.getTime() + MAX_DAYS * DAY;
  const end = timeOf(found.endDate);
  if (end > latest)
    refusals.refuse(
      'unusable',
      `endDate is ${end}: expected ${latest} at the latest, ${MAX_DAYS} days ahead`,
    );
}

const PERIODS = [
  ['startDate', 'endDate'],
  ['publishStartDate', 'publishEndDate'],
] as const;

/** NaN for a date that is absent: no comparison with it is true. */
function timeOf(date: string | undefined): number {
  return date === undefined ? NaN : Date.parse(date);
}

/** Fields that only some types need, or that need each other (`docs/decisions.md#v8`). */
function checkNeeds({ voucherTypeId }: FoundVoucher, posted: Posted, refusals: Refusals): void {
  const type = voucherTypeId === undefined ? undefined : VOUCHER_TYPES[voucherTypeId];
  if (type !== undefined && 'needs' in type && isUnset(posted[type.needs]))
    refusals.missing(type.needs, ` where voucherTypeId is ${voucherTypeId} (${type.name})`);
  if (!isUnset(posted['discountAmount']) && isUnset(posted['isPercentage']))
    refusals.missing('isPercentage', ' where discountAmount is');
}

/** `docs/decisions.md#v19`. */
function checkAmount(
  { programId = NaN, discountAmount, isPercentage }: FoundVoucher,
  { directory }: VoucherCheckParts,
  refusals: Refusals,
): void {
  const currency = directory.program(programId)?.currency;
  if (currency === undefined || discountAmount === undefined || isPercentage !== false) return;
  if (amountOf(discountAmount, currency) === undefined)
    refusals.wrong('discountAmount', discountAmount, expectedAmount(currency, discountAmount));
}

/** Document 2, Errors: 102 and 103; `docs/decisions.md#v5`, `#v18`. */
function checkAccess(
  { programId, siteIds = [] }: FoundVoucher,
  { directory, caller }: VoucherCheckParts,
  refusals: Refusals,
): void {
  if (programId === undefined) return;
  const program = directory.program(programId);
  if (program?.organisationId !== caller.organisationId) {
    refusals.add(fault.noAccess, `programId is ${programId}: expected a program of yours`);
    return;
  }
  if (program.status !== 'active')
    refusals.add(
      fault.noAccess,
      `program ${programId} is ${program.status}: vouchers are taken while it is active`,
    );
  const unconnected = ascending(siteIds).filter((id) => !directory.programs.connectionsOf(id).has(programId));
  if (unconnected.length > 0)
    refusals.add(
      fault.notConnected,
      `siteIds: not connected to program ${programId}: ${unconnected.join(', ')}`,
    );
}

function ascending(siteIds: readonly number[]): readonly number[] {
  return [...new Set(siteIds)].sort((a, b) => a - b);
}
