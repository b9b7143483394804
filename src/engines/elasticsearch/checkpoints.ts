import { setImmediate as nextRound } from 'node:timers/promises';
import { type Position } from '../../kernel/event';
import { type Found } from '../../kernel/query';
import { type Connection, type IndexContext } from './connection';
import { failureOf, NoSuchIndex } from './failure';
import { CHECKPOINT } from './writer';

/** A request about to be sent: the aliases to look up, and the answer for each. */
interface PendingRead {
  readonly aliases: string[];
  readonly read: Promise<readonly (Position | undefined | Error)[]>;
}

/**
 * Reads checkpoints. Lookups made in the same round of the event loop share one request, since waiting for a position polls
 * the checkpoints of all read models.
 */
export class Checkpoints {
  /** By `retryMs`. */
  private readonly pending = new Map<number, PendingRead>();

  constructor(private readonly connection: Connection) {}

  /** How far the log has been projected; undefined if not at all. */
  async of({ alias, retryMs }: IndexContext): Promise<Position | undefined> {
    const pending = this.pending.get(retryMs) ?? this.enqueue(retryMs);
    const at = pending.aliases.push(alias) - 1;
    const answer = (await pending.read)[at];
    if (!(answer instanceof Error)) return answer;
    if (answer instanceof NoSuchIndex) throw answer;
    // Retried alone, so that the others need not wait for it.
    const [position] = await this.read([alias], retryMs);
    if (position instanceof Error) throw position;
    return position;
  }

  private enqueue(retryMs: number): PendingRead {
    const aliases: string[] = [];
    const read = nextRound().then(() => {
      this.pending.delete(retryMs);
      return this.read(aliases, retryMs);
    });
    const pending = { aliases, read };
    this.pending.set(retryMs, pending);
    return pending;
  }

  private async read(aliases: readonly string[], retryMs: number): Promise<Awaited<PendingRead['read']>> {
    const request = {
      docs: aliases.map((alias) => ({ _index: alias, _id: CHECKPOINT })),
      // With the id, so that no entry of the list is empty and omitted.
      filter_path: ['docs._id', 'docs._source', 'docs.error'],
    };
    return await this.connection.ask(async (client, options) => {
      const { docs } = await client.mget<Pick<Found, 'version'>>(request, options);
      return docs.map((entry) => {
        if (!('error' in entry)) return entry._source?.version;
        const failure = failureOf({ status: 500, type: entry.error.type, reason: '' });
        if (failure instanceof NoSuchIndex || aliases.length > 1) return failure;
        throw failure;
      });
    }, retryMs);
  }
}
