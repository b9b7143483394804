import { stateField } from './fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';

/** What kinds of subscriptions call differently; tables and answers have the names of transactions. */
type Naming = Pick<SubscriptionKind, 'subjectField' | 'states'>;

/**
 * The same with the names of a kind: `transactionId` and `messageTypeId` are `claimId` and `statusId` of claims. The type keeps
 * the names of transactions.
 */
export function namedFor<Value extends object>(kind: Naming, value: Value): Value {
  const names = new Map(namesOf(kind));
  return renamed(value, (name) => names.get(name) ?? name);
}

/** The inverse of `namedFor`. */
export function namedAsTransactions<Value extends object>(kind: Naming, value: Value): Value {
  const names = new Map(namesOf(kind).map(([own, other]) => [other, own]));
  return renamed(value, (name) => names.get(name) ?? name);
}

function namesOf({ subjectField, states }: Naming): readonly (readonly [string, string])[] {
  return [
    ['transactionId', subjectField],
    ['messageTypeId', stateField(states.field)],
  ];
}

function renamed<Value extends object>(value: Value, nameOf: (name: string) => string): Value {
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [nameOf(name), one as unknown]),
  ) as Value;
}
