import { type VoucherState } from '../../domain/vouchers/voucher';
import { type Directory } from '../../network/directory';
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
