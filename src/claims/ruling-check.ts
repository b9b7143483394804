import { type Fault } from '../kernel/fault';
import { type Ruling } from './claim';
import { claimFaults as fault } from './faults';
import { APPROVED, CHANNELS, LAST_LEGACY_STATUS, type RulingStatusId, STATUSES } from './statuses';

/** What an advertiser posts; the status may be any number, amounts are hundredths. */
export interface PostedRuling {
  readonly statusId: number;
  readonly message?: string;
  readonly orderValue?: number;
  readonly expectedCommission?: number;
}

const ANOTHER_CHANNEL = 201;
const MESSAGE_LENGTH = 255;

/** Raises what is wrong with a ruling (`docs/decisions.md#c9`). `isLegacy`: on a legacy path, where statuses end at 211. */
export function checkedRuling(posted: PostedRuling, isLegacy: boolean): Ruling {
  const { statusId, message } = posted;
  if (!isRulingStatus(statusId, isLegacy)) throw refusedStatus(statusId, isLegacy);
  if (statusId === ANOTHER_CHANNEL) checkChannel(message);
  if (message !== undefined && message.length > MESSAGE_LENGTH)
    throw fault.illegalValue(
      `statusMessageClaim has ${message.length} characters: expected at most ${MESSAGE_LENGTH}`,
    );
  const correction = (['orderValue', 'expectedCommission'] as const).find(
    (name) => posted[name] !== undefined,
  );
  if (statusId !== APPROVED && correction !== undefined)
    throw fault.illegalValue(
      `${correction}: expected only where statusIdClaim is ${APPROVED}, not ${statusId}`,
    );
  return { ...posted, statusId };
}

function isRulingStatus(id: number, isLegacy: boolean): id is RulingStatusId {
  const isKnown = Object.hasOwn(STATUSES, id) && (!isLegacy || id <= LAST_LEGACY_STATUS);
  return isKnown && (id === APPROVED || id > 200);
}

function refusedStatus(id: number, isLegacy: boolean): Fault {
  const last = isLegacy ? LAST_LEGACY_STATUS : 213;
  const expected = `expected ${APPROVED}, or one of 201 to ${last} of the list of statuses`;
  return Object.hasOwn(STATUSES, id)
    ? fault.statusNotAllowed(`statusIdClaim is ${id}: ${expected}`)
    : fault.unknownStatus(`statusIdClaim is ${id}: ${expected}`);
}

function checkChannel(message: string | undefined): void {
  const expected = `expected one of ${CHANNELS.join(', ')} where statusIdClaim is ${ANOTHER_CHANNEL}`;
  if (message === undefined) throw fault.missingParameter(`statusMessageClaim is missing: ${expected}`);
  if (!(CHANNELS as readonly string[]).includes(message))
    throw fault.illegalValue(`statusMessageClaim is ${JSON.stringify(message)}: ${expected}`);
}
