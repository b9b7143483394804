import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { type EventLog } from '../../src/kernel/event-log';
import { esdbFixture, type EsdbFixture } from './esdb-fixture';

/** Long timeouts: what a server refuses is refused long before they end. */
export const PATIENT = { timeoutMs: 5_000, retryMs: 600_000 };

/** An event log over an awkward EventStoreDB, and the official client as another program uses it. */
export interface EsdbLog extends EsdbFixture {
  readonly log: EventLog;
}

/** Call it where tests are declared, as `esdbFixture`. `use` receives everything before each test. */
export function esdbLog(use: (fixture: EsdbLog) => void): void {
  let log: EventLog;
  // Declared first, so that the log is closed before its server stops.
  afterAll(() => log.close());
  const fixture = esdbFixture('awkward');
  beforeAll(async () => {
    log = await openEventStoreDb(fixture.server.url, PATIENT);
  });
  beforeEach(() => {
    const { server, client, category, stream } = fixture;
    use({ server, client, category, stream, log });
  });
}
