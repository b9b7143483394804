import { defineService } from '../../http/service';
import { type Fault, faultsOf, Refusal } from '../../kernel/fault';
import { UnknownAsOf } from '../../projector/as-of';
import { INTEGER, type KeyTable, type KeyType, oneOf, TEXT } from '../../wire/keys/keys';
import { MAX_REASON } from '../actions';
import { CommandError, NothingThere } from '../command-error';
import { httpFaults, notResponding } from '../../wire/api/errors';

/** Codes are the HTTP status, as for generic errors (`docs/decisions.md#x60`). */
const operatorFaultTable = {
  unusable: ['400', 400, 'The request is invalid'],
  notAdmitted: ['403', 403, 'The token does not permit this'],
  notFound: [
    '404',
    404,
    'There is no such claim, product, voucher or message, nothing whose history it could be, or nothing of this name',
  ],
  conflict: ['409', 409, 'The claim has another version or status, or the read models cannot be built now'],
} as const;

export const operatorFaults = faultsOf(operatorFaultTable);

/**
 * What the functions behind the operations raise, as faults. Messages of a `CommandError` that may name a
 * path are replaced before.
 */
function faultOf(error: unknown): Fault | undefined {
  if (error instanceof NothingThere || error instanceof UnknownAsOf)
    return operatorFaults.notFound(error.message);
  if (error instanceof CommandError) return operatorFaults.unusable(error.message);
  return error instanceof Refusal ? operatorFaults.conflict(error.message) : undefined;
}

/** The service for operators of the network. */
export const operatorService = defineService({
  system: 'OPS',
  readModels: 'all',
  modules: ['ops'],
  namespace: '/ops/1.0',
  description: {
    title: 'Operations',
    description:
      'For operators of the network: mappings of advertisers’ category names, claims that are pending at the ' +
      'network, what has become of messages, the event log, the history of anything, what operators have done, and read ' +
      'models as of a time.',
    faults: operatorFaultTable,
    schemas: () => ({}),
    errorSchema: 'OpsErrors_v1_0.xsd',
  },
  faults: operatorFaults,
  faultOf,
});

const reasonText: KeyType<string> = {
  ...TEXT,
  expected: `a text of 1 to ${MAX_REASON} characters`,
  schema: { type: 'string', minLength: 1, maxLength: MAX_REASON },
  read: (text) => (text.trim() === '' || text.length > MAX_REASON ? undefined : text),
};

/** Of each operation that changes something. */
export const REASON = {
  reason: { type: reasonText, description: 'Why: recorded in the log with the fingerprint of the token' },
} as const satisfies KeyTable;

/** Of what takes effect for others at once (`GRAVE`). */
export const REQUIRED_REASON = { reason: { ...REASON.reason, required: true } } as const satisfies KeyTable;

export const listKeys = {
  fid: { type: INTEGER, multiple: true, required: true, description: 'Feed ids' },
  state: { type: oneOf('mapped', 'unmapped'), description: 'Only names in this state' },
} as const satisfies KeyTable;

export const unmapKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed id' },
  name: { type: TEXT, required: true, description: 'The advertiser’s category name' },
  ...REASON,
} as const satisfies KeyTable;

export const suggestKeys = {
  fid: { type: INTEGER, multiple: true, description: 'Feed ids; their unmapped names get suggestions' },
  name: { type: TEXT, multiple: true, description: 'Category names of any feed' },
  most: { type: INTEGER, description: 'Suggestions for each name: default 3, at most 20' },
} as const satisfies KeyTable;

/** Requests that read much: one at a time in a process, until its client has left or the server stops. */
export class OneAtATime {
  private readonly stop = new AbortController();
  private isUnderWay = false;

  /** Raises 503 while another one is under way. */
  async run<T>(gone: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.isUnderWay) throw httpFaults.overloaded(undefined, { retryAfter: 1 });
    this.isUnderWay = true;
    try {
      return await work(AbortSignal.any([this.stop.signal, ...(gone === undefined ? [] : [gone])]));
    } finally {
      this.isUnderWay = false;
    }
  }

  /** A stop does not wait for it. */
  end(): void {
    this.stop.abort(notResponding());
  }
}
