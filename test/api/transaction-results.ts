import { type Response } from '../support/app';
import { type Expected } from '../support/transaction-model';

interface Result {
  readonly messageTypeId?: number;
  readonly errors?: readonly { readonly code: string }[];
}

export const sorted = (expected: Expected): Expected =>
  typeof expected === 'number' ? expected : expected.toSorted();
const stateOf = ({ messageTypeId = 0, errors }: Result): Expected =>
  errors === undefined ? messageTypeId : errors.map(({ code }) => code).toSorted();
/** The state that an answer has, or its codes. */
export const resultOf = (answer: Response): Expected => stateOf(answer.json<Result>());
export const resultsOf = (answer: Response): readonly Expected[] =>
  answer.json<readonly Result[]>().map(stateOf);

/** Totals of what is listed (decisions T6). */
export function totalsOf(
  listed: readonly (Readonly<Record<string, unknown>> | undefined)[],
): readonly object[] {
  const groups = new Map<string, { count: number; orderValue: number; commission: number; name: unknown }>();
  for (const one of listed) {
    const key = `${String(one?.['currencyId'])} ${String(one?.['messageTypeId'])}`;
    const { count, orderValue, commission } = groups.get(key) ?? { count: 0, orderValue: 0, commission: 0 };
    groups.set(key, {
      count: count + 1,
      orderValue: orderValue + Math.round(Number(one?.['orderValue']) * 10_000),
      commission: commission + Math.round(Number(one?.['publisherCommission']) * 10_000),
      name: one?.['stateName'],
    });
  }
  return [...groups].sort().map(([key, { count, orderValue, commission, name }]) => ({
    currencyId: key.slice(0, 3),
    messageTypeId: Number(key.slice(4)),
    stateName: name,
    count,
    orderValue: orderValue / 10_000,
    publisherCommission: commission / 10_000,
    tdCommission: 0,
  }));
}
