import {
  idsWith,
  legacyIdOf,
  onlyOne,
  TRANSACTION_ID,
  transactionsWith,
} from '../domain/transactions/transaction-id';
import { DENIED_REASONS, type DeniedReasonId, stateIdOf } from '../domain/transactions/states';
import { STATE_OF, TRANSACTION, type TransactionEvent } from '../domain/transactions/transaction';
import { factsIn, isAmount, type TransactionFacts } from '../domain/transactions/transaction-facts';
import { toDomainEvent } from '../kernel/decider';
import { streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type Terms } from '../network/programs';
import { directoryAt } from '../network/directory';
import { textOf } from '../wire/record/minor-units';
import { UsageError } from './command-error';

/**
 * The history of a transaction as text: for each event its number, time and state, and what it has changed. `id` is a
 * `transactionId` or a `legacyTransactionId`. Raises `UsageError`.
 */
export async function* transactionHistory(log: EventLog, id: string): AsyncGenerator<string> {
  const transactionId = (await transactionNamed(log, id)) ?? id;
  let before: Details = {};
  for await (const batch of log.readStream(streamOf(TRANSACTION, transactionId))) {
    for (const recorded of batch) {
      const event = toDomainEvent(recorded) as TransactionEvent;
      if (recorded.revision === 0)
        yield `transaction ${transactionId} (${legacyIdOf(event.data.transaction)})`;
      yield headingOf(event, recorded.revision + 1);
      const details = detailsOf(event);
      yield* changes(before, details);
      before = details;
    }
  }
  if (Object.keys(before).length === 0)
    throw new UsageError(`${id}: expected the transactionId or the legacyTransactionId of a transaction`);
}

function headingOf({ type, data }: TransactionEvent, number: number): string {
  const name = STATE_OF[type];
  const amended = type === 'TransactionAmended' ? ', amended' : '';
  return `${number}  ${data.at}  ${name} (${stateIdOf(name)})${amended}`;
}

type Details = Readonly<Record<string, string>>;

function detailsOf({ data }: TransactionEvent): Details {
  const transaction = factsIn(data);
  const facts = Object.entries<string | number>({ ...transaction }).map(([name, value]) => [
    name,
    factText(name, value, transaction),
  ]);
  const others = Object.entries(data)
    .filter(([name]) => name !== 'at' && name !== 'transaction' && name !== 'decimals')
    .map(([name, value]) => [name, attributeText(name, value)]);
  return Object.fromEntries([...facts, ...others]) as Details;
}

function factText(name: string, value: string | number, { currencyId }: TransactionFacts): string {
  return isAmount(name) ? `${textOf(Number(value), currencyId)} ${currencyId}` : String(value);
}

function attributeText(name: string, value: unknown): string {
  if (name === 'deniedReasonId') return `${String(value)} (${DENIED_REASONS[value as DeniedReasonId].name})`;
  if (name === 'terms') return termsText(value as Terms);
  return Array.isArray(value) ? value.join('; ') : String(value);
}

/** What a commission is of: `5 %`, `fixed 3`. */
export function termsText({ commission }: Terms): string {
  if (commission === undefined) return 'no commission';
  if ('percent' in commission) return `${commission.percent} %`;
  return `fixed ${commission.fixed / 10 ** (commission.decimals ?? 2)}`;
}

function* changes(before: Details, after: Details): Generator<string> {
  for (const [name, text] of Object.entries(after)) {
    const earlier = before[name];
    if (earlier === undefined) yield `   ${name}: ${text}`;
    else if (earlier !== text) yield `   ${name}: ${earlier} -> ${text}`;
  }
}

/** The ids of all transactions that an id can name, either a `transactionId` or a `legacyTransactionId`. */
export async function transactionIdsOf(log: EventLog, id: string): Promise<readonly string[]> {
  return TRANSACTION_ID.test(id) ? [id] : idsWith(id, (await directoryAt(log)).programs);
}

/** The id of the only transaction that an id names, if there is one. Raises a fault that names all of several. */
export async function transactionNamed(log: EventLog, id: string): Promise<string | undefined> {
  if (TRANSACTION_ID.test(id)) return id;
  const { programs } = await directoryAt(log);
  return onlyOne(id, await transactionsWith(log, programs, id))?.transactionId;
}
