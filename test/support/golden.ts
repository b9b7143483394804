import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DomainEvent } from '../../src/kernel/decider';

/** The stored sample of an event type (test/golden), or a variant of it, and the stream it was in. */
export function golden<Event extends DomainEvent>(
  type: Event['type'],
  variant = '',
): { readonly stream: string; readonly event: Event } {
  const file = join(__dirname, `../golden/${type}${variant}.json`);
  const { stream, ...event } = JSON.parse(readFileSync(file, 'utf8')) as Event & { stream: string };
  return { stream, event: event as unknown as Event };
}
