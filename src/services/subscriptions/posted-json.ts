import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Caller } from '../../network/organisations';
import { postedFromJson } from '../../wire/json/read';
import { NotParsable } from '../../wire/not-parsable';
import { isPosted, type Posted, Refusals } from '../../wire/api/posted';
import { recordReader } from '../../wire/record/read';
import { postedTest, stateField } from './fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';

/** A posted object, unchecked. Raises CON_310 for what cannot be read; `expected` describes the object. */
export function postedObject(bytes: Buffer, expected: string): Posted {
  try {
    const found = postedFromJson(bytes);
    if (isPosted(found)) return found;
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
  throw fault.syntax(`the body is not an object: expected ${expected}`);
}

/** The state that a test is to be about, if the body names one. Raises `Faults`. */
export function postedState(
  kind: SubscriptionKind,
  bytes: Buffer,
  caller: Pick<Caller, 'kind'>,
): number | undefined {
  const refusals = new Refusals({ unusable: fault.content });
  const field = stateField(kind.states.field);
  const example = JSON.stringify({ [field]: kind.sample.states[0] });
  const posted = postedObject(bytes, `an object such as ${example}, or no body`);
  const { [field]: stateId } = recordReader(postedTest(kind))(posted, refusals);
  const { notForAdvertisers } = kind.states;
  if (caller.kind === 'advertiser' && stateId !== undefined && notForAdvertisers.includes(stateId))
    refusals.add(
      fault.paidForAdvertiser,
      `${field} is ${stateId}: expected a state that advertisers may subscribe to`,
    );
  refusals.raise();
  return stateId;
}
