import { conversionFaults as fault } from '../conversions/faults';
import { type Caller } from '../directory/organisations';
import { type PostedBody } from '../http/posted-body';
import { Fault } from '../kernel/fault';
import { parseJson } from '../wire/json-read';
import { NotParsable } from '../wire/not-parsable';
import { isPosted, type Posted, Refusals } from '../wire/posted';
import { recordReader } from '../wire/record-read';
import { postedTest, stateField } from './fields';
import { type SubscriptionKind } from './kind';

/** Most bytes of a body (`docs/decisions.md#n15`). */
const MAX_BODY = 1024 * 1024;

/** A posted object in JSON, unchecked. Raises CON_310 for what cannot be read, CON_350 for a body that is too large. */
export async function postedJson(body: PostedBody): Promise<Posted> {
  body.format(['json']);
  return objectIn(await bytesOf(body));
}

/** The state that a test is to be about, if the body names one; an absent body names none. */
export async function postedState(
  kind: SubscriptionKind,
  body: PostedBody,
  caller: Pick<Caller, 'kind'>,
): Promise<number | undefined> {
  const bytes = await bytesOf(body);
  if (bytes.length === 0) return undefined;
  body.format(['json']);
  const refusals = new Refusals({ unusable: fault.content });
  const field = stateField(kind.states.field);
  const { [field]: stateId } = recordReader(postedTest(kind))(objectIn(bytes), refusals);
  const { notForAdvertisers } = kind.states;
  if (caller.kind === 'advertiser' && stateId !== undefined && notForAdvertisers.includes(stateId))
    refusals.add(
      fault.paidForAdvertiser,
      `${field} is ${stateId}: expected a state that advertisers may be told of`,
    );
  refusals.raise();
  return stateId;
}

async function bytesOf(body: PostedBody): Promise<Buffer> {
  try {
    return await body.bytes(MAX_BODY);
  } catch (error) {
    if (!(error instanceof Fault) || error.status !== 413) throw error;
    throw fault.content(`the body is too large: expected at most ${MAX_BODY} bytes`);
  }
}

function objectIn(bytes: Buffer): Posted {
  try {
    const found = parseJson(bytes);
    if (isPosted(found)) return found;
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
  throw fault.syntax('the body is not an object: expected one subscription');
}
