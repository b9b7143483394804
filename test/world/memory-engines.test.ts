import { expiringLogContract } from '../contracts/expiring-log';
import { leasesContract, type LeasesFixture } from '../contracts/leases';
import { readStoreContract } from '../contracts/read-store';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { type Leases } from '../../src/kernel/leases';
import { LeaseTable, MemoryLeases } from './memory-leases';
import { MemoryEvents, MemoryLog } from './memory-log';
import { MemoryCollections } from './memory-collections';
import { MemoryStore } from './memory-store';
import { EPOCH } from './simulation';

type LeasesClock = Parameters<LeasesFixture['again']>[0];

expiringLogContract('In memory', async () => {
  const events = new MemoryEvents(() => Date.now() - EPOCH);
  let log = new MemoryLog(events);
  return {
    log,
    forgetsAtOnce: true,
    reopen: async () => {
      await log.close();
      return (log = new MemoryLog(events));
    },
    close: () => log.close(),
  };
});

leasesContract('In memory, of one machine', async () => {
  const table = new LeaseTable();
  return leasesFixture(() => new MemoryLeases(table));
});

leasesContract('In memory, of several machines', async () => {
  const table = new LeaseTable();
  return leasesFixture((clock) => new MemoryLeases(table, () => clock.monotonic()));
});

function leasesFixture(open: (clock: LeasesClock) => Leases): LeasesFixture {
  return {
    again: async (clock) => open(clock),
    unsteady: async (clock) => {
      const leases = open(clock);
      const release = leases.release.bind(leases);
      const fail = (): Promise<void> => Promise.reject(new EngineUnavailable('it fails'));
      return { leases, setFailing: (isFailing) => (leases.release = isFailing ? fail : release) };
    },
    close: async () => undefined,
  };
}

readStoreContract('In memory', async () => {
  const collections = new MemoryCollections();
  const now = () => performance.now();
  let store = new MemoryStore(collections, now);
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = new MemoryStore(collections, now));
    },
    close: () => store.close(),
  };
});
