import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { type Programs } from '../../network/programs';
import { START } from '../../kernel/event';
import { amountsIn } from '../../wire/record/minor-units';
import { isPosted, Refusals, wrong } from '../../wire/api/posted';
import { type PostedOf } from '../../wire/record/record';
import { complete, recordReader } from '../../wire/record/read';
import { postedTransition } from '../../domain/transactions/fields';
import { isReportInfo } from '../../domain/transactions/report-info';
import { PROBLEMS } from './report-check';
import { type DeniedReasonId, RULING_REASONS } from '../../domain/transactions/states';
import { surroundingsOf } from '../../domain/transactions/surroundings';
import { type KnownTransaction, type TransactionCommand } from '../../domain/transactions/transaction';
import { AMENDABLE, AMOUNTS } from '../../domain/transactions/transaction-facts';
import { idsWith, TRANSACTION_ID } from '../../domain/transactions/transaction-id';

/** A checked request for a transition (`docs/decisions.md#t5`). */
export interface Transition {
  /** At least one of both. */
  readonly transactionId?: string | undefined;
  readonly legacyTransactionId?: string | undefined;
  readonly request: Request;
}

type Request = PostedOf<typeof postedTransition>;

const read = recordReader(postedTransition);

/** Checks a request, JSON or XML alike. Raises everything that is wrong as `Faults`. */
export function checkTransition(
  posted: unknown,
  caller: Pick<Caller, 'kind'>,
  programs: Pick<Programs, 'everWithEvent'>,
): Transition {
  if (!isPosted(posted)) throw fault.content(wrong('a transition', posted, 'an object'));
  const refusals = new Refusals(PROBLEMS);
  const found = read(posted, refusals);
  const { action, deniedReasonId, transactionId, legacyTransactionId } = found;
  if (transactionId === undefined) {
    if (legacyTransactionId === undefined) refusals.missing('transactionId', ', or legacyTransactionId');
  } else if (!TRANSACTION_ID.test(transactionId))
    refusals.wrong('transactionId', transactionId, '32 hexadecimal digits');
  else if (
    legacyTransactionId !== undefined &&
    !idsWith(legacyTransactionId, programs).includes(transactionId)
  )
    refusals.wrong('transactionId', transactionId, 'the id of the given legacyTransactionId');
  if (action === 'pay' && found.paymentId === undefined)
    refusals.missing('paymentId', ' where action is pay');
  if (action === 'pay' && caller.kind !== 'operator')
    refusals.add(fault.userType, 'action is pay: expected a token of an operator');
  if (deniedReasonId !== undefined && action !== undefined) checkReason(action, deniedReasonId, refusals);
  const amended = AMENDABLE.filter((field) => found[field] !== undefined);
  if (action === 'amend' && amended.length === 0) refusals.missing(`one of ${AMENDABLE.join(', ')}`);
  if (amended.length > 0 && action !== undefined && action !== 'amend' && action !== 'approve')
    refusals.refuse('unusable', `${amended.join(', ')}: expected only where action is amend or approve`);
  if (found.reportInfo !== undefined && !isReportInfo(found.reportInfo))
    refusals.wrong(
      'reportInfo',
      found.reportInfo,
      'f1=number&f2=name&f3=value&f4=quantity, items separated by |',
    );
  const request = complete<Request>(found, refusals);
  return { transactionId, legacyTransactionId, request };
}

function checkReason(action: Request['action'], reason: DeniedReasonId, refusals: Refusals): void {
  const reasons =
    action in RULING_REASONS ? RULING_REASONS[action as keyof typeof RULING_REASONS] : undefined;
  if (reasons === undefined)
    return refusals.refuse(
      'unusable',
      `deniedReasonId: expected only where action is approve, deny or delete`,
    );
  const known: readonly number[] = [...reasons.others, reasons.otherwise];
  if (!known.includes(reason))
    refusals.wrong('deniedReasonId', reason, `one of ${known.join(', ')} where action is ${action}`);
}

/** The command for a transaction in this state. `at` is an ISO 8601 instant. */
export function transitionCommand(
  { action, deniedReasonId, paymentId = 0, ...request }: Request,
  state: KnownTransaction,
  directory: Directory,
  at: string,
): TransactionCommand {
  const { transaction } = state;
  const { programId, eventId } = transaction;
  const terms = state.terms ?? directory.pastTerms.at(programId, eventId, state.reportedAt ?? START);
  const refusals = new Refusals(PROBLEMS);
  const refuse = (name: string, decimal: number, expected: string) => refusals.wrong(name, decimal, expected);
  const amounts = amountsIn(request, AMOUNTS, transaction.currencyId, refuse);
  refusals.raise();
  const { reportInfo } = request;
  const amended = {
    amendments: { ...amounts, ...(reportInfo === undefined ? {} : { reportInfo }) },
    ...(terms === undefined ? {} : { terms }),
  };
  switch (action) {
    case 'approve':
    case 'deny':
    case 'delete':
      return {
        do: action,
        at,
        ...(deniedReasonId === undefined ? {} : { reason: deniedReasonId }),
        ...amended,
      };
    case 'amend':
      return { do: 'amend', at, ...amended };
    case 'validate':
      return { do: 'validate', at, surroundings: surroundingsOf(directory, transaction) };
    case 'invalidate':
      return { do: 'invalidate', at, reason: 'its advertiser has invalidated it' };
    case 'pay':
      return { do: 'pay', at, paymentId };
  }
}
