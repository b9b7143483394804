import { Injectable } from '@nestjs/common';
import { changesSince, ownerOf } from '../../../projections/changes';
import { listVouchers, type VoucherCriteria, vouchers, vouchersThat } from '../../../projections/vouchers';
import { load, versionsOf } from '../../kernel/decider';
import {
  audiencesIn,
  isVersion,
  postedFields,
  VOUCHER,
  voucherDecider,
  voucherFaults as fault,
  type VoucherState,
} from '../../domain/vouchers/voucher';
import { type FoundList } from '../../http/answer';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { type Directory } from '../../network/directory';
import { DirectoryView } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { eachOf } from '../../projector/search-in-parts';
import { httpFaults } from '../../wire/api/errors';
import { type DateFormat } from '../../wire/date';
import {
  BOOLEAN,
  CSV_KEY,
  DATE,
  dryRunKey,
  given,
  INTEGER,
  INTEGERS,
  type Keys,
  type KeyTable,
  LANGUAGE,
  oneOf,
  TEXTS,
  until,
} from '../../wire/keys/keys';
import { factsOf, PAGE_KEY, pageOf, SINCE_KEY, sinceHeaders, sizeKey } from '../../wire/keys/pages';
import { tooManyWords } from '../../wire/words';
import { codeIn, type OutputVersion, type OutputVoucher, toOutput, toVersion } from './api';
import {
  type Asker,
  type Condition,
  conditionOf,
  connectedTo,
  connectionCondition,
  type Viewer,
  type Visibility,
  visibilityBy,
} from '../../network/visibility';

/** Format of dates in an answer (Document 2, List keys). */
export const dateKeys = {
  dateOutputFormat: {
    type: oneOf('iso8601', 'epoch'),
    description: 'Format of dates; milliseconds by default',
  },
} as const satisfies KeyTable;

/** Of posts, beyond Document 2 (`docs/decisions.md#a15`). */
export const postKeys = { dryRun: dryRunKey } as const satisfies KeyTable;

/** Document 2, List keys (for `token` and `jsonp` see `src/http`); the last three `docs/decisions.md#v17`, `#x135`. */
export const listKeys = {
  id: { ...INTEGERS, description: 'Ids of vouchers' },
  maxStartDate: {
    type: until(DATE),
    description: 'Valid from this time or earlier, a date includes its day; includes ended ones',
  },
  minEndDate: { type: DATE, description: 'Valid until this time or later; includes ended ones' },
  ...dateKeys,
  programId: { ...INTEGERS, description: 'Programs' },
  keywords: { ...TEXTS, description: 'Words to find in title, descriptions and code' },
  voucherTypeId: { ...INTEGERS, description: 'Types' },
  siteSpecific: { type: BOOLEAN, description: 'Only vouchers for some sites, or only those for any site' },
  siteId: { ...INTEGERS, description: 'Sites that can use the voucher' },
  pageSize: sizeKey('Vouchers on a page'),
  page: PAGE_KEY,
  random: { type: INTEGER, description: 'Seed of a random order; the same seed gives the same order' },
  languageId: { type: LANGUAGE, description: 'Language of the voucher' },
  activeAt: { type: DATE, description: 'The default listing as of this time' },
  since: SINCE_KEY,
  format: { ...CSV_KEY, beyondJson: true },
} as const satisfies KeyTable;

export type VoucherListKeys = Keys<typeof listKeys>;

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
    private readonly follower: DirectoryView,
    private readonly settings: VoucherSettings,
  ) {}

  async list(
    keys: VoucherListKeys,
    caller: Caller,
    now: Date,
    query: QueryOptions = {},
  ): Promise<FoundList<OutputVoucher>> {
    const { directory } = this.follower;
    const { clickUrl } = this.settings;
    const reader = { directory, caller, now };
    const { found, ...page } =
      keys.since === undefined
        ? { found: await listVouchers(this.store, criteriaOf(keys, reader), query) }
        : await this.changed({ ...keys, since: keys.since }, reader, query);
    const view = { directory, caller, clickUrl, dates: keys.dateOutputFormat ?? 'epoch' } as const;
    return { items: eachOf(found, (voucher) => toOutput(voucher, view)), requested: keys.pageSize, ...page };
  }

  /** What a copy lacks, and in headers what it must remove (`docs/decisions.md#x135`). */
  private async changed(
    keys: VoucherListKeys & { readonly since: NonNullable<VoucherListKeys['since']> },
    reader: VoucherReader,
    query: QueryOptions,
  ) {
    for (const name of UNFOLLOWED)
      if (keys[name] !== undefined)
        throw fault.invalidVoucher(
          `${name}: cannot be combined with since, which lists what can be used now`,
        );
    const { store, log } = this;
    const criteria = criteriaOf(keys, reader);
    const facts = factsOf([
      ...joinedFacts(reader),
      criteria.among,
      criteria.audiences,
      criteria.keywords,
      this.settings.clickUrl,
    ]);
    const { following } = keys.since;
    const visible = (time: number) => criteriaOf(keys, { ...reader, now: new Date(time) });
    const { directory, caller, now } = reader;
    const followed = {
      collection: vouchers.collection,
      category: VOUCHER,
      followers:
        caller.kind === 'advertiser'
          ? [...directory.programsOf(caller)].map(ownerOf)
          : audiencesOf(directory.sitesOf(caller), directory, 'active'),
      isTimed: caller.kind === 'publisher',
      visibleAt: (time: number) => vouchersThat(visible(time)),
    };
    const since = keys.since.facts === facts ? following : undefined;
    const wanted = { since, size: criteria.size, now: now.getTime() };
    const { ids, time, target, ...rest } = await changesSince({ store, log }, followed, wanted, query);
    const seen = visible(time);
    const listed = { ...seen, among: { ...seen.among, id: ids } };
    const found = await listVouchers(store, listed, query, target);
    return { found, headers: sinceHeaders(rest, facts), applied: rest.applied };
  }

  /** What each event has changed, with the values (`docs/decisions.md#v17`); raises 404 for all but the owner. */
  async versions(
    id: number | undefined,
    caller: Caller,
    dates: DateFormat,
    { signal }: QueryOptions = {},
  ): Promise<AsyncIterable<Iterable<OutputVersion>>> {
    const { directory } = this.follower;
    const loaded = id === undefined ? undefined : await load(this.log, voucherDecider, id);
    if (id === undefined || loaded === undefined || !isOwn(loaded.state, caller, directory))
      throw httpFaults.notFound('your programs have no such voucher');
    const codeOf = codeIn(directory);
    const fieldsOf = (state: VoucherState) => postedFields(state, codeOf);
    const to = loaded.revision + 1;
    const versions = versionsOf(this.log, voucherDecider, id, fieldsOf, { to, signal, isVersion });
    return (async function* () {
      for await (const batch of versions) yield batch.map((version) => toVersion(version, codeOf, dates));
    })();
  }
}

function isOwn(state: VoucherState, { organisationId }: Caller, directory: Directory): boolean {
  return state.status !== 'unknown' && directory.program(state.programId)?.organisationId === organisationId;
}

/** Keys that select by time or order, and so not what can be used now. */
const UNFOLLOWED = ['page', 'random', 'activeAt', 'minEndDate', 'maxStartDate'] as const;

/** What is joined to the vouchers of a caller. */
function joinedFacts({ directory, caller }: VoucherReader): readonly unknown[] {
  const sites = directory.sitesOf(caller);
  const connected = sites.map((id) => [id, [...directory.programs.connectionsOf(id)]] as const);
  const programIds =
    caller.kind === 'advertiser' ? directory.programsOf(caller) : connected.flatMap(([, ids]) => ids);
  const programs = [...new Set(programIds)].map((id) => {
    const { name, logoUrl, currency, status } = directory.program(id) ?? {};
    return [id, name, logoUrl, currency, status];
  });
  return [caller.kind, connected, programs];
}

interface VoucherReader {
  readonly directory: Directory;
  readonly caller: Caller;
  readonly now: Date;
}

/** The keys, limited to what the caller may see (`docs/decisions.md#v3`, `#v10`, `#v18`). */
function criteriaOf(keys: VoucherListKeys, asker: VoucherReader): VoucherCriteria {
  const { directory, caller } = asker;
  const isOwner = caller.kind === 'advertiser';
  const page = pageOf(keys, fault.invalidVoucher);
  const trouble = tooManyWords('keywords', keys.keywords);
  if (trouble !== undefined) throw fault.invalidVoucher(trouble);
  return {
    among: {
      programId: isOwner ? ownPrograms(keys, asker) : given(keys.programId),
      id: given(keys.id),
      voucherTypeId: given(keys.voucherTypeId),
      siteSpecific: keys.siteSpecific === undefined ? undefined : [keys.siteSpecific],
      languageId: keys.languageId === undefined ? undefined : [keys.languageId],
    },
    audiences: [
      ...(isOwner ? [] : [audiencesOf(directory.sitesOf(caller), directory, 'active')]),
      ...(keys.siteId.length === 0 ? [] : [audiencesOf(sitesNamed(keys, asker), directory, 'any')]),
    ],
    ...timesOf(keys, asker),
    keywords: given(keys.keywords),
    seed: keys.random,
    ...page,
  };
}

/** An advertiser's programs: those that it names, or all. */
function ownPrograms(
  { programId }: VoucherListKeys,
  { directory, caller }: VoucherReader,
): readonly number[] {
  const own = directory.programsOf(caller);
  return programId.length === 0 ? [...own] : programId.filter((id) => own.has(id));
}

/** The sites of the key, limited to a publisher's own (`docs/decisions.md#v11`). */
function sitesNamed({ siteId }: VoucherListKeys, { directory, caller }: VoucherReader): readonly number[] {
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

function timesOf(
  { activeAt, minEndDate, maxStartDate }: VoucherListKeys,
  { caller, now }: VoucherReader,
): Times {
  const isBounded = minEndDate !== undefined || maxStartDate !== undefined;
  if (activeAt !== undefined && isBounded)
    throw fault.invalidVoucher('activeAt: cannot be combined with minEndDate or maxStartDate');
  const at = activeAt ?? (caller.kind === 'advertiser' ? undefined : now.getTime());
  return { publishedAt: at, minEndDate: isBounded ? minEndDate : at, maxStartDate };
}

/** A voucher that was published, with the time of its last event. */
interface KnownVoucher {
  readonly state: Exclude<VoucherState, { readonly status: 'unknown' }>;
  readonly changed: string;
}

/**
 * What must hold for publishers to see a voucher at a time (`docs/decisions.md#v3`, `#v10`, `#v18`): for any of them,
 * or for a viewer.
 */
export function voucherVisibility(
  directory: Directory,
  { state, changed }: KnownVoucher,
  now: Date,
  who: { readonly asker: Asker; readonly viewer?: Viewer | undefined },
): Visibility {
  const { programId, status } = state;
  const published = conditionOf(
    'published',
    status === 'published',
    status === 'published' ? `last posted at ${changed}` : `withdrawn at ${changed}`,
    'a withdrawn voucher stays so: post another one',
  );
  if (state.status !== 'published') return visibilityBy([published]);
  const { publishStartDate, publishEndDate, endDate, siteIds } = state.voucher;
  const at = now.getTime();
  return visibilityBy([
    published,
    programCondition(directory, programId),
    conditionOf(
      'within its publication window',
      at >= timeOf(publishStartDate, -Infinity) && at <= timeOf(publishEndDate, Infinity),
      `published ${windowText(publishStartDate, publishEndDate)}; it is ${now.toISOString()}`,
      at < timeOf(publishStartDate, -Infinity)
        ? `wait until ${publishStartDate ?? ''}, or post it with an earlier publishStartDate`
        : 'post it with a later publishEndDate',
    ),
    conditionOf(
      'not ended',
      at <= timeOf(endDate, Infinity),
      `its endDate is ${endDate}; it is ${now.toISOString()}`,
      'post it with a later endDate; requests with minEndDate list ended ones too',
    ),
    connectionCondition(directory, [programId], { viewer: undefined, ...who }),
    ...(siteIds === undefined ? [] : [siteCondition(directory, programId, siteIds, who.viewer)]),
  ]);
}

function programCondition(directory: Directory, programId: number): Condition {
  const program = directory.program(programId);
  return conditionOf(
    'program active',
    program?.status === 'active',
    program === undefined
      ? `program ${programId} was removed`
      : `program ${programId} (${program.name}) is ${program.status}`,
    program === undefined
      ? 'define the program in a network file, and import it with `affilog network import`'
      : 'set its "status" to "active" in a network file, and import it with `affilog network import`',
  );
}

/** Of a voucher that names sites. */
function siteCondition(
  directory: Directory,
  programId: number,
  siteIds: readonly number[],
  viewer: Viewer | undefined,
): Condition {
  const among = viewer === undefined ? siteIds : viewer.siteIds.filter((id) => siteIds.includes(id));
  const connected = connectedTo(directory, [programId], among);
  return conditionOf(
    'for the site',
    connected.length > 0,
    `it is for the sites ${siteIds.join(', ')}; of them ` +
      (viewer === undefined
        ? `${listed(connected)} connected to program ${programId}`
        : `${listed(connected)} the publisher's own and connected to program ${programId}`),
    'connect one of these sites to the program, or post the voucher with other siteIds or none',
  );
}

function listed(ids: readonly number[]): string {
  if (ids.length === 0) return 'none is';
  return `${ids.join(', ')} ${ids.length === 1 ? 'is' : 'are'}`;
}

function windowText(from: string | undefined, to: string | undefined): string {
  if (from === undefined && to === undefined) return 'at any time';
  return [from === undefined ? '' : `from ${from}`, to === undefined ? '' : `until ${to}`]
    .filter((part) => part !== '')
    .join(' ');
}

function timeOf(date: string | undefined, open: number): number {
  return date === undefined ? open : Date.parse(date);
}
