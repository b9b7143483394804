import { hash } from 'node:crypto';
import { execute, load } from '../kernel/decider';
import { NO_STREAM, type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { reservations } from '../kernel/reservation';
import { Sequence } from '../kernel/sequence';
import { KeyedMutex } from '../kernel/keyed-mutex';
import { voucherFaults as fault } from './faults';
import { type VoucherContent, voucherDecider } from './voucher';

/** A voucher to be published, or to replace what its `sourceId` names; it has been checked. */
export interface VoucherPost {
  readonly programId: number;
  readonly sourceId?: string;
  readonly voucher: VoucherContent;
}

/** What became of a post or a withdrawal; without `position` nothing was written. */
export interface Written {
  readonly id: number;
  readonly position?: Position;
}

const keys = reservations('voucherkey');
const UNWRITTEN = { state: voucherDecider.initial, revision: NO_STREAM };

/**
 * Writes vouchers. Of all that are posted with one `sourceId` for one program one voucher comes out, whatever races and
 * whoever is killed: a key is reserved for an id before the voucher of this id is published, and whoever finds the key
 * reserved goes on with that id.
 *
 * `at` is an ISO 8601 instant. All raise `EngineUnavailable`; to do the same again is harmless.
 */
export class Vouchers {
  private readonly ids: Sequence;
  /** Races in this process would only be conflicts. */
  private readonly mutex = new KeyedMutex<string>();

  constructor(private readonly log: EventLog) {
    this.ids = new Sequence(log, 'voucher');
  }

  /** Publishes, or edits the voucher that is known by the `sourceId` (`docs/decisions.md#v2`). */
  async post(post: VoucherPost, at: string): Promise<Written> {
    const { programId, sourceId } = post;
    if (sourceId === undefined) return this.publish(post, at);
    const key = keyOf(programId, sourceId);
    return this.mutex.runExclusive(key, () => this.postTo(key, sourceId, post, at));
  }

  /** Withdraws a voucher of a program that the caller owns; raises 101 where there is no such voucher. */
  async withdraw(id: number, owns: (programId: number) => boolean, at: string): Promise<Written> {
    const known = await load(this.log, voucherDecider, id);
    const { state } = known;
    if (state.status === 'unknown' || !owns(state.programId)) throw missing(id);
    const withdrawn = await execute(this.log, voucherDecider, id, { do: 'withdraw', at }, known);
    if (withdrawn.position === undefined) throw missing(id);
    await this.release(keyOf(state.programId, state.sourceId ?? String(id)), id, at);
    return { id, position: withdrawn.position };
  }

  /** One that is known by its own id: not by one that stands for another voucher of the program. */
  private async publish(post: VoucherPost, at: string): Promise<Written> {
    for (;;) {
      const id = await this.ids.next();
      const holder = await this.reserve(keyOf(post.programId, String(id)), id, at);
      const written = holder === id ? await this.write(id, post, at, true) : undefined;
      if (written !== undefined) return written;
    }
  }

  private async postTo(key: string, sourceId: string, post: VoucherPost, at: string): Promise<Written> {
    for (;;) {
      const { state: holder, revision } = await load(this.log, keys, key);
      if (holder === undefined) {
        const edited = await this.editById(Number(sourceId), post, at);
        if (edited !== undefined) return edited;
      }
      const own = holder ?? (await this.ids.next());
      const id = holder ?? (await this.reserve(key, own, at, revision));
      const written = await this.write(id, post, at, holder === undefined && id === own);
      if (written !== undefined) return written;
      // Whoever withdrew it has not come to this yet.
      await this.release(key, id, at);
    }
  }

  /** Edits the voucher of this id if it is one of the program. */
  private async editById(id: number, post: VoucherPost, at: string): Promise<Written | undefined> {
    if (!Number.isSafeInteger(id) || String(id) !== post.sourceId) return undefined;
    const { state } = await load(this.log, voucherDecider, id);
    const isIts = state.status === 'published' && state.programId === post.programId;
    return isIts ? this.write(id, post, at, false) : undefined;
  }

  /** Publishes or edits under an id; undefined if what was there has been withdrawn. */
  private async write(
    id: number,
    post: VoucherPost,
    at: string,
    isNew: boolean,
  ): Promise<Written | undefined> {
    const known = isNew ? UNWRITTEN : undefined;
    const command = { do: 'post', ...post, at } as const;
    const { state, position } = await execute(this.log, voucherDecider, id, command, known);
    return state.status === 'published' ? { id, ...(position === undefined ? {} : { position }) } : undefined;
  }

  /** The id that a key is reserved for: this one, unless another was faster. */
  private async reserve(key: string, owner: number, at: string, revision = NO_STREAM): Promise<number> {
    const command = { do: 'reserve', owner, at } as const;
    const known = { state: undefined, revision };
    const { state = owner } = await execute(this.log, keys, key, command, known);
    return state;
  }

  private async release(key: string, owner: number, at: string): Promise<void> {
    await execute(this.log, keys, key, { do: 'release', owner, at });
  }
}

/** What is reserved: a `sourceId` within a program. */
function keyOf(programId: number, sourceId: string): string {
  return hash('sha256', `${programId}:${sourceId}`);
}

function missing(id: number) {
  return fault.invalidVoucher(`there is no voucher ${id} of a program of yours`);
}
