import { type EventLog } from '../../src/kernel/event-log';
import { appending } from './event-log/appending';
import { finding } from './event-log/finding';
import { recognizing } from './event-log/recognizing';
import { type Subject } from './event-log/events';
import { reading } from './event-log/reading';
import { readingBackwards } from './event-log/reading-backwards';
import { subscribing } from './event-log/subscribing';

/** A log to be tried; what it held before does not matter. */
export interface LogFixture {
  readonly log: EventLog;
  /** Closes the log and opens it again with all it holds. */
  reopen(): Promise<EventLog>;
  close(): Promise<void>;
}

const PARTS = {
  appends: appending,
  'recognizes a repeated append': recognizing,
  reads: reading,
  'reads backwards': readingBackwards,
  'finds streams': finding,
  'is subscribed to': subscribing,
} as const;
type Part = keyof typeof PARTS;

/** The promises of the `EventLog` port: what every engine passes, without exceptions; or only some parts of them. */
export function eventLogContract(
  name: string,
  open: () => Promise<LogFixture>,
  parts = Object.keys(PARTS) as readonly Part[],
): void {
  describe(`${name}: an event log`, () => {
    let tried: LogFixture;
    let log: EventLog;

    beforeAll(async () => {
      tried = await open();
      log = tried.log;
    });
    afterAll(() => tried.close());

    const subject: Subject = {
      log: () => log,
      reopen: async () => (log = await tried.reopen()),
    };
    for (const part of parts) describe(part, () => PARTS[part](subject));
  });
}
