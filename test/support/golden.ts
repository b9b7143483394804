import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DomainEvent } from '../../src/kernel/decider';

/** The stored sample of an event type (test/golden), and the stream it was in. */
export function golden<Event extends DomainEvent>(
  type: Event['type'],
): { readonly stream: string; readonly event: Event } {
  const file = join(__dirname, `../golden/${type}.json`);
  const { stream, ...event } = JSON.parse(readFileSync(file, 'utf8')) as Event & { stream: string };
  return { stream, event: event as unknown as Event };
}
