import { Injectable } from '@nestjs/common';
import { listVouchers, type VoucherCriteria } from '../../../projections/vouchers';
import { type Directory } from '../../network/directory';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { EventLog } from '../../kernel/event-log';
import { historyOf, type Version } from '../../domain/keys/history';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { eachOf } from '../../projector/search-in-parts';
import { httpFaults } from '../../wire/api/http-faults';
import { pageOf } from '../../wire/keys/pages';
import { voucherFaults as fault } from '../../domain/vouchers/faults';
import { type OutputVoucher } from './fields';
import { type VoucherListKeys } from './list-keys';
import { codeIn, toOutput } from './output';
import { audiencesIn } from '../../domain/vouchers/stored-voucher';
import { postedFields, voucherDecider } from '../../domain/vouchers/voucher';

/** The settings that answers depend on. */
export abstract class VoucherSettings {
  abstract readonly vendor: string;
  /** Without a slash at the end. */
  abstract readonly clickUrl: string;
}

/** The listing of vouchers (Document 2, List keys), and the versions of one. */
@Injectable()
export class VoucherQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly follower: FollowedDirectory,
    private readonly settings: VoucherSettings,
  ) {}

  /** In batches, read on demand. */
  async list(
    keys: VoucherListKeys,
    caller: Caller,
    now: Date,
    query: QueryOptions = {},
  ): Promise<AsyncIterable<Iterable<OutputVoucher>>> {
    const { directory } = this.follower;
    const { clickUrl } = this.settings;
    const listed = await listVouchers(this.store, criteriaOf(keys, { directory, caller, now }), query);
    const view = { directory, caller, clickUrl, dates: keys.dateOutputFormat ?? 'epoch' } as const;
    return eachOf(listed, (voucher) => toOutput(voucher, view));
  }

  /** What each event has changed (`docs/decisions.md#v17`); raises 404 for all but the owner. */
  async versions(
    id: number | undefined,
    caller: Caller,
    { signal }: QueryOptions = {},
  ): Promise<readonly Version[]> {
    const { directory } = this.follower;
    const codeOf = codeIn(directory);
    const history =
      id === undefined
        ? undefined
        : await historyOf(this.log, voucherDecider, id, (state) => postedFields(state, codeOf), signal);
    if (history !== undefined && history.state.status !== 'unknown') {
      const program = directory.program(history.state.programId);
      if (program?.organisationId === caller.organisationId) return history.versions;
    }
    throw httpFaults.notFound('your programs have no such voucher');
  }
}

/** The context of a listing. */
interface Asker {
  readonly directory: Directory;
  readonly caller: Caller;
  readonly now: Date;
}

/** The keys, limited to what the caller may see (`docs/decisions.md#v3`, `#v10`, `#v18`). */
function criteriaOf(keys: VoucherListKeys, asker: Asker): VoucherCriteria {
  const { directory, caller } = asker;
  const isOwner = caller.kind === 'advertiser';
  const page = pageOf(keys, fault.invalidVoucher);
  return {
    programIds: isOwner ? ownPrograms(keys, asker) : given(keys.programId),
    audiences: [
      ...(isOwner ? [] : [audiencesOf(directory.sitesOf(caller), directory, 'active')]),
      ...(keys.siteId.length === 0 ? [] : [audiencesOf(sitesNamed(keys, asker), directory, 'any')]),
    ],
    ...timesOf(keys, asker),
    ids: given(keys.id),
    voucherTypeIds: given(keys.voucherTypeId),
    keywords: given(keys.keywords),
    siteSpecific: keys.siteSpecific,
    languageId: keys.languageId,
    seed: keys.random,
    ...page,
  };
}

/** A key without values is no criterion. */
function given<Value>(values: readonly Value[]): readonly Value[] | undefined {
  return values.length === 0 ? undefined : values;
}

/** An advertiser's programs: those that it names, or all. */
function ownPrograms({ programId }: VoucherListKeys, { directory, caller }: Asker): readonly number[] {
  const own = directory.programsOf(caller);
  return programId.length === 0 ? [...own] : programId.filter((id) => own.has(id));
}

/** The sites of the key, limited to a publisher's own (`docs/decisions.md#v11`). */
function sitesNamed({ siteId }: VoucherListKeys, { directory, caller }: Asker): readonly number[] {
  if (caller.kind === 'advertiser') return siteId;
  const own = directory.programs.sitesOf(caller.organisationId);
  return siteId.filter((id) => own.includes(id));
}

function audiencesOf(
  siteIds: readonly number[],
  directory: Directory,
  programs: 'active' | 'any',
): readonly string[] {
  return audiencesIn(
    siteIds.flatMap((siteId) =>
      [...directory.programs.connectionsOf(siteId)]
        .filter((id) => programs === 'any' || directory.program(id)?.status === 'active')
        .map((programId) => ({ siteId, programId })),
    ),
  );
}

type Times = Pick<VoucherCriteria, 'publishedAt' | 'minEndDate' | 'maxStartDate'>;

function timesOf({ activeAt, minEndDate, maxStartDate }: VoucherListKeys, { caller, now }: Asker): Times {
  const isBounded = minEndDate !== undefined || maxStartDate !== undefined;
  if (activeAt !== undefined && isBounded)
    throw fault.invalidVoucher('activeAt: cannot be combined with minEndDate or maxStartDate');
  const at = activeAt ?? (caller.kind === 'advertiser' ? undefined : now.getTime());
  return { publishedAt: at, minEndDate: isBounded ? minEndDate : at, maxStartDate };
}
