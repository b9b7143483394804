import { Injectable } from '@nestjs/common';
import { listVouchers, type VoucherCriteria } from '../../projections/voucher-list';
import { type Directory } from '../directory/directory';
import { FollowedDirectory } from '../directory/follower';
import { type Caller } from '../directory/organisations';
import { EventLog } from '../kernel/event-log';
import { historyOf, type Version } from '../kernel/history';
import { type QueryOptions } from '../kernel/query';
import { ReadStore } from '../kernel/read-store';
import { httpFaults } from '../wire/open-api';
import { voucherFaults as fault } from './faults';
import { type OutputVoucher } from './fields';
import { type ListKeys } from './list-keys';
import { toOutput } from './output';
import { audiencesIn, type ListedVoucher } from './stored-voucher';
import { postedFields, voucherDecider } from './voucher';

/** The settings that answers depend on. */
export abstract class VoucherSettings {
  abstract readonly vendor: string;
  /** Without a slash at the end. */
  abstract readonly clickUrl: string;
}

/** The listing of vouchers (Document 2, List keys), and what became of one. */
@Injectable()
export class VoucherQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly follower: FollowedDirectory,
    private readonly settings: VoucherSettings,
  ) {}

  /** In batches, each read when it is asked for. */
  async list(
    keys: ListKeys,
    caller: Caller,
    now: Date,
    query: QueryOptions = {},
  ): Promise<AsyncIterable<Iterable<OutputVoucher>>> {
    const { directory } = this.follower;
    const { clickUrl } = this.settings;
    const listed = await listVouchers(this.store, criteriaOf(keys, { directory, caller, now }), query);
    const view = { directory, caller, clickUrl, dates: keys.dateOutputFormat ?? 'epoch' } as const;
    return written(listed, (voucher) => toOutput(voucher, view));
  }

  /** What each event has changed (`docs/decisions.md#v17`); raises 404 for all but the owner. */
  async versions(id: number | undefined, caller: Caller): Promise<readonly Version[]> {
    const history =
      id === undefined ? undefined : await historyOf(this.log, voucherDecider, id, postedFields);
    if (history !== undefined && history.state.status !== 'unknown') {
      const program = this.follower.directory.program(history.state.programId);
      if (program?.organisationId === caller.organisationId) return history.versions;
    }
    throw httpFaults.notFound('there is no such voucher of a program of yours');
  }
}

async function* written(
  batches: AsyncIterable<readonly ListedVoucher[]>,
  write: (voucher: ListedVoucher) => OutputVoucher,
): AsyncGenerator<Iterable<OutputVoucher>> {
  for await (const batch of batches) yield eachOf(batch, write);
}

/** One by one as they are asked for. */
function* eachOf(
  batch: readonly ListedVoucher[],
  write: (voucher: ListedVoucher) => OutputVoucher,
): Generator<OutputVoucher> {
  for (const voucher of batch) yield write(voucher);
}

interface Asker {
  readonly directory: Directory;
  readonly caller: Caller;
  readonly now: Date;
}

/** Vouchers in a page at most, and unless the keys say how many (Document 2, Limits; `docs/decisions.md#v16`). */
const PAGE = 1000;

/** What is listed, of the keys and of what the caller may see (`docs/decisions.md#v3`, `#v10`, `#v18`). */
function criteriaOf(keys: ListKeys, asker: Asker): VoucherCriteria {
  const { directory, caller } = asker;
  const isOwner = caller.kind === 'advertiser';
  const { siteSpecific, languageId, random, keywords } = keys;
  const size = Math.min(PAGE, atLeast(1, 'pageSize', keys.pageSize ?? PAGE));
  const offset = atLeast(0, 'page', keys.page ?? 0) * size;
  return {
    ...(isOwner || keys.programId.length > 0 ? { programIds: programsIn(keys, asker, isOwner) } : {}),
    audiences: [
      ...(isOwner ? [] : [audiencesOf(directory.sitesOf(caller), directory, 'active')]),
      ...(keys.siteId.length === 0 ? [] : [audiencesOf(sitesNamed(keys, asker), directory, 'any')]),
    ],
    ...timesOf(keys, asker),
    ...some('ids', keys.id),
    ...some('voucherTypeIds', keys.voucherTypeId),
    ...some('keywords', keywords),
    ...(siteSpecific === undefined ? {} : { siteSpecific }),
    ...(languageId === undefined ? {} : { languageId }),
    ...(random === undefined ? {} : { seed: random }),
    offset,
    size,
  };
}

/** Of the programs named those that are the caller's, or all of these. */
function programsIn(
  { programId }: ListKeys,
  { directory, caller }: Asker,
  isOwner: boolean,
): readonly number[] {
  if (!isOwner) return programId;
  const own = directory.programsOf(caller);
  return programId.length === 0 ? [...own] : programId.filter((id) => own.has(id));
}

/** The sites named that the caller may name (`docs/decisions.md#v11`). */
function sitesNamed({ siteId }: ListKeys, { directory, caller }: Asker): readonly number[] {
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

function timesOf({ activeAt, minEndDate, maxStartDate }: ListKeys, { caller, now }: Asker): Times {
  const isBounded = minEndDate !== undefined || maxStartDate !== undefined;
  if (activeAt !== undefined && isBounded)
    throw fault.invalidVoucher('activeAt: accepted without minEndDate and maxStartDate only');
  const at = activeAt ?? (caller.kind === 'advertiser' ? undefined : now.getTime());
  return {
    ...(at === undefined ? {} : { publishedAt: at }),
    ...(at === undefined || isBounded ? {} : { minEndDate: at }),
    ...(minEndDate === undefined ? {} : { minEndDate }),
    ...(maxStartDate === undefined ? {} : { maxStartDate }),
  };
}

function some<Name extends string, Value>(
  name: Name,
  values: readonly Value[],
): { readonly [K in Name]?: readonly Value[] } {
  return (values.length === 0 ? {} : { [name]: values }) as { readonly [K in Name]?: readonly Value[] };
}

function atLeast(least: number, key: string, value: number): number {
  if (value >= least) return value;
  throw fault.invalidVoucher(`${key}=${value}: expected an integer of at least ${least}`);
}
