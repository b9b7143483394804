import { setImmediate as turn } from 'node:timers/promises';
import { type Position } from '../../kernel/event';
import { type Connection } from './connection';
import { failureOf, NoSuchIndex } from './failure';
import { type Kept } from './layout';
import { type Place } from './search';
import { CHECKPOINT } from './writer';

/** One request that is made soon: what is asked by it, and what will be answered to each. */
interface Soon {
  readonly aliases: string[];
  readonly read: Promise<readonly (Position | undefined | Error)[]>;
}

/**
 * Checkpoints that are asked for at the same time, by one request: whoever waits for a position looks at those of all
 * read models, again and again.
 */
export class Checkpoints {
  /** By the patience (ms) that there is. */
  private readonly soon = new Map<number, Soon>();

  constructor(private readonly connection: Connection) {}

  /** How far the log has been folded; undefined if not at all. */
  async of({ alias, patience }: Place): Promise<Position | undefined> {
    const soon = this.soon.get(patience) ?? this.readSoon(patience);
    const at = soon.aliases.push(alias) - 1;
    const answer = (await soon.read)[at];
    if (!(answer instanceof Error)) return answer;
    if (answer instanceof NoSuchIndex) throw answer;
    // Retried alone, so that the others need not wait for it.
    const [position] = await this.read([alias], patience);
    if (position instanceof Error) throw position;
    return position;
  }

  private readSoon(patience: number): Soon {
    const aliases: string[] = [];
    const read = turn().then(() => {
      this.soon.delete(patience);
      return this.read(aliases, patience);
    });
    const soon = { aliases, read };
    this.soon.set(patience, soon);
    return soon;
  }

  private async read(aliases: readonly string[], patience: number): Promise<Awaited<Soon['read']>> {
    const request = {
      docs: aliases.map((alias) => ({ _index: alias, _id: CHECKPOINT })),
      // The name too, so that each has a place in the list.
      filter_path: ['docs._id', 'docs._source', 'docs.error'],
    };
    return await this.connection.ask(async (client, options) => {
      const { docs } = await client.mget<Pick<Kept, 'version'>>(request, options);
      return docs.map((entry) => {
        if (!('error' in entry)) return entry._source?.version;
        const failure = failureOf({ status: 500, type: entry.error.type, reason: '' });
        if (failure instanceof NoSuchIndex || aliases.length > 1) return failure;
        throw failure;
      });
    }, patience);
  }
}
