import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LeaseFile } from '../../src/engines/embedded/lease-file';
import { openEventStoreLeases } from '../../src/engines/eventstoredb/open-event-store-db';
import { type Leases } from '../../src/kernel/leases';
import { leasesContract } from '../contracts/leases';
import { PATIENT } from '../support/esdb-log';
import { type EsdbMode, startEsdbServer } from '../support/esdb-server';

leasesContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'affilog-leases-'));
  const opened: Leases[] = [];
  return {
    again: async () => {
      const leases = new LeaseFile(join(folder, 'alive', 'leases.sqlite'));
      opened.push(leases);
      return leases;
    },
    close: async () => {
      for (const leases of opened) await leases.close();
      await rm(folder, { recursive: true });
    },
  };
});

for (const mode of ['writable', 'awkward'] satisfies EsdbMode[])
  leasesContract(`EventStoreDB (${mode})`, async () => {
    const server = await startEsdbServer(mode);
    const opened: Leases[] = [];
    return {
      again: async (clocks) => {
        const leases = await openEventStoreLeases(server.url, PATIENT, undefined, clocks);
        opened.push(leases);
        return leases;
      },
      close: async () => {
        for (const leases of opened) await leases.close();
        await server.stop();
      },
    };
  });
