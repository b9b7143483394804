import { conversionFaults as fault } from '../conversions/faults';
import { type Caller } from '../directory/organisations';
import { parseJson } from '../wire/json-read';
import { NotParsable } from '../wire/not-parsable';
import { isPosted, type Posted, Refusals } from '../wire/posted';
import { recordReader } from '../wire/record-read';
import { postedTest, stateField } from './fields';
import { type SubscriptionKind } from './kind';

/** A posted object, unchecked. Raises CON_310 for what cannot be read. */
export function postedObject(bytes: Buffer): Posted {
  try {
    const found = parseJson(bytes);
    if (isPosted(found)) return found;
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
  throw fault.syntax('the body is not an object: expected one subscription');
}

/** The state that a test is to be about, if the body names one. Raises `Faults`. */
export function postedState(
  kind: SubscriptionKind,
  bytes: Buffer,
  caller: Pick<Caller, 'kind'>,
): number | undefined {
  const refusals = new Refusals({ unusable: fault.content });
  const field = stateField(kind.states.field);
  const { [field]: stateId } = recordReader(postedTest(kind))(postedObject(bytes), refusals);
  const { notForAdvertisers } = kind.states;
  if (caller.kind === 'advertiser' && stateId !== undefined && notForAdvertisers.includes(stateId))
    refusals.add(
      fault.paidForAdvertiser,
      `${field} is ${stateId}: expected a state that advertisers may subscribe to`,
    );
  refusals.raise();
  return stateId;
}
