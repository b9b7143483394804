import { type Response } from '../support/app';
import { iso, type KnownTransaction } from '../support/known-transaction';
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

type Row = Readonly<Record<string, unknown>>;

const DAY_MS = 86_400_000;

/** The first day of the day, week or month of an instant, found day by day (decisions T9). */
function firstDay(instant: string, every: string): string {
  let time = Date.parse(`${instant.slice(0, 10)}T00:00:00Z`);
  const isFirst = () =>
    every === 'day' || new Date(time)[every === 'week' ? 'getUTCDay' : 'getUTCDate']() === 1;
  while (!isFirst()) time -= DAY_MS;
  return iso(time).slice(0, 10);
}

const sumOf = (rows: readonly Row[], name: string): number =>
  rows.reduce((sum, row) => sum + Math.round(Number(row[name]) * 10_000), 0) / 10_000;
const mean = (numbers: readonly number[]): number =>
  Math.round(numbers.reduce((sum, one) => sum + one, 0) / numbers.length / 1000);

/** Totals of transactions, from the history of each (decisions T6, T9). */
export function totalsOf(
  known: readonly Pick<KnownTransaction, 'history'>[],
  groupBy: readonly string[] = ['state'],
  periodOf = 'timeOfEvent',
): readonly object[] {
  const every = groupBy.find((name) => ['day', 'week', 'month'].includes(name));
  const ids = ['programId', 'siteId', 'eventId'].filter((name) => groupBy.includes(name));
  const byState = groupBy.includes('state');
  const groups = new Map<string, { readonly key: readonly unknown[]; readonly rows: Row[] }>();
  for (const { history } of known) {
    const last = history.at(-1)!;
    const approved = history.find(({ messageTypeId }) => [5, 6].includes(Number(messageTypeId)))?.['changed'];
    const row: Row = { ...last, approved };
    const time = row[periodOf];
    if (every !== undefined && time === undefined) continue;
    const key = [
      every === undefined ? '' : firstDay(String(time), every),
      ...ids.map((name) => row[name]),
      row['currencyId'],
      byState ? row['messageTypeId'] : 0,
    ];
    const group = groups.get(key.join()) ?? { key, rows: [] };
    group.rows.push(row);
    groups.set(key.join(), group);
  }
  return [...groups.values()]
    .sort((a, b) => {
      const at = a.key.findIndex((part, index) => part !== b.key[index]);
      return (a.key[at] as number) < (b.key[at] as number) ? -1 : 1;
    })
    .map(({ key, rows }) => {
      const those = (...states: readonly number[]) =>
        rows.filter(({ messageTypeId }) => states.includes(Number(messageTypeId)));
      const [approved, refused] = [those(5, 6, 9), those(2, 7, 8)];
      const decided = approved.length + refused.length;
      const times = approved.map((row) =>
        Math.max(0, Date.parse(String(row['approved'])) - Date.parse(String(row['timeOfEvent']))),
      );
      const [first] = rows;
      return {
        ...(every === undefined ? {} : { period: key[0], periodOf }),
        ...Object.fromEntries(ids.map((name) => [name, first?.[name]])),
        currencyId: first?.['currencyId'],
        ...(byState ? { messageTypeId: first?.['messageTypeId'], stateName: first?.['stateName'] } : {}),
        count: rows.length,
        orderValue: sumOf(rows, 'orderValue'),
        publisherCommission: sumOf(rows, 'publisherCommission'),
        tdCommission: 0,
        ...(byState ? {} : { approved: approved.length, refused: refused.length }),
        ...(byState || decided === 0 ? {} : { approvalRate: Number((approved.length / decided).toFixed(4)) }),
        ...(times.length === 0 ? {} : { secondsToApproval: mean(times) }),
      };
    });
}
