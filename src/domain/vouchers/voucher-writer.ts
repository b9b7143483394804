import { hash } from 'node:crypto';
import { execute, load } from '../../kernel/decider';
import { type Ids, type Position } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { KeyedAggregates } from '../keys/reservation';
import {
  type ProgramCurrency,
  type VoucherCommand,
  type VoucherContent,
  voucherDecider,
  type VoucherEvent,
  voucherFaults as fault,
  type VoucherState,
} from './voucher';

/** A checked voucher: to be published, or to replace the one that its `sourceId` identifies. */
export interface VoucherPost {
  readonly programId: number;
  readonly sourceId?: string;
  readonly voucher: VoucherContent;
  readonly currency: ProgramCurrency;
  /** Identifies the request, if it may be repeated. */
  readonly retryKey?: string;
}

/** The id of the voucher, and the position of its last event; without `position` nothing was written. */
export interface WrittenVoucher {
  readonly id: number;
  readonly position?: Position;
}

/**
 * Writes vouchers. A `sourceId` identifies one voucher of a program at a time, even if processes race or are
 * killed (`KeyedAggregates`). The id of a voucher that was posted without one is its `sourceId`.
 *
 * `at` is an ISO 8601 instant. All methods may raise `EngineUnavailable`; repeating them is harmless.
 */
export class VoucherWriter {
  private readonly keyed: KeyedAggregates<VoucherCommand, VoucherState, VoucherEvent>;

  constructor(
    private readonly uuids: Ids,
    private readonly log: EventLog,
  ) {
    this.keyed = new KeyedAggregates(uuids, log, {
      decider: voucherDecider,
      ids: 'voucher',
      keys: 'voucherkey',
      isRemoved: ({ status }) => status === 'withdrawn',
    });
  }

  /** Publishes, or edits the voucher that the `sourceId` identifies (`docs/decisions.md#v2`, `#v15`). */
  async post(post: VoucherPost, at: string): Promise<WrittenVoucher> {
    const { retryKey, ...posted } = post;
    const { programId, sourceId } = posted;
    const command = { do: 'post', ...posted, at } as const;
    const { id, position } =
      sourceId === undefined
        ? await this.keyed.create((own) => keyOf(programId, String(own)), command, at, retryKey)
        : await this.keyed.execute(keyOf(programId, sourceId), command, at);
    return { id, ...(position === undefined ? {} : { position }) };
  }

  /** What `post` would return, without writing anything: the id is 0 for a voucher that does not exist yet. */
  async tryPost({ programId, sourceId }: VoucherPost): Promise<WrittenVoucher> {
    if (sourceId === undefined) return { id: NEW_ID };
    return { id: (await this.keyed.find(keyOf(programId, sourceId))) ?? NEW_ID };
  }

  /** Withdraws a voucher of a program that the caller owns; raises 101 for any other. */
  async withdraw(id: number, owns: (programId: number) => boolean, at: string): Promise<WrittenVoucher> {
    const known = await load(this.log, voucherDecider, id);
    const { state } = known;
    if (state.status === 'unknown' || !owns(state.programId)) throw missing(id);
    const { position } = await execute(
      this.uuids,
      this.log,
      voucherDecider,
      id,
      { do: 'withdraw', at },
      known,
    );
    if (position === undefined) throw missing(id);
    await this.keyed.release(keyOf(state.programId, state.sourceId ?? String(id)), id, at);
    return { id, position };
  }
}

/** Ids count from 1. */
const NEW_ID = 0;

/** The key of a `sourceId` within a program. */
function keyOf(programId: number, sourceId: string): string {
  return hash('sha256', `${programId}:${sourceId}`);
}

function missing(id: number) {
  return fault.invalidVoucher(`your programs have no voucher ${id}`);
}
