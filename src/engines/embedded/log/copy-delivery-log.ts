import { setImmediate } from 'node:timers/promises';
import { START } from '../../../kernel/event';
import { DamagedLog } from '../../../kernel/event-log';
import { closeDatabase } from '../connection';
import { openDeliveryLog } from './open-log';
import { openToAppend } from './schema';

/** Appends that are copied at a time: other work of the thread continues in between. */
const SLICE = 1_000;

/**
 * Copies the file of a delivery log, which may be in use, to a new file: everything up to its present end. Events that
 * expire meanwhile may be in it. Reads the copy as a log. Raises `EngineUnavailable`.
 */
export async function copyDeliveryLog(from: string, to: string, signal?: AbortSignal): Promise<void> {
  await copyRows(from, to, signal);
  const { log } = await openDeliveryLog(to, false);
  try {
    const head = await log.head();
    let last = START;
    for await (const { position } of log.readAll({ after: START })) last = position;
    if (last !== head) throw new DamagedLog(`its copy ends at ${last} in place of ${head}`);
  } finally {
    await log.close();
  }
}

async function copyRows(from: string, to: string, signal: AbortSignal | undefined): Promise<void> {
  const database = openToAppend(to, 'deliveries');
  try {
    database.prepare('ATTACH DATABASE ? AS source').run(from);
    const [head] = database.prepare('SELECT coalesce(max(position), 0) FROM source.appends').get() as [
      number,
    ];
    const next = database.prepare(
      'SELECT max(position) FROM (SELECT position FROM source.appends WHERE position > ? AND position <= ? ' +
        `ORDER BY position LIMIT ${SLICE})`,
    );
    const copies = ['appends', 'events'].map((table) =>
      database.prepare(
        `INSERT INTO main.${table} SELECT * FROM source.${table} WHERE position > ? AND position <= ?`,
      ),
    );
    for (let after = 0; after < head;) {
      signal?.throwIfAborted();
      // In one transaction, both tables are read as of one moment.
      database.exec('BEGIN IMMEDIATE');
      const [upTo] = next.get(after, head) as [number | null];
      if (upTo !== null) for (const copy of copies) copy.run(after, upTo);
      database.exec('COMMIT');
      after = upTo ?? head;
      await setImmediate();
    }
    database.exec('UPDATE main.expired SET position = (SELECT position FROM source.expired)');
  } finally {
    closeDatabase(database);
  }
}
