import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { LeaseFile } from '../../../src/engines/embedded/leases';
import { openEventStoreLeases } from '../../../src/engines/eventstoredb/open-event-store-db';
import { type Leases } from '../../../src/kernel/leases';
import { leasesContract } from '../../contracts/leases';
import { PATIENT } from '../../support/esdb-log';
import { type EsdbMode, startEsdbServer } from '../../support/esdb-server';
import { startFaultyProxy } from '../../support/faulty-proxy';

leasesContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'affilog-leases-'));
  const opened: Pick<Leases, 'close'>[] = [];
  return {
    again: async () => {
      const leases = new LeaseFile(join(folder, 'alive', 'leases.sqlite'));
      opened.push(leases);
      return leases;
    },
    unsteady: async () => {
      const path = join(folder, 'alive', 'leases.sqlite');
      const leases = new LeaseFile(path);
      opened.push(leases);
      const failing = "BEFORE DELETE ON lease_holders BEGIN SELECT RAISE(FAIL, 'it fails'); END";
      return {
        leases,
        setFailing: (isFailing) => {
          const file = new DatabaseSync(path);
          file.exec(isFailing ? `CREATE TRIGGER failing ${failing}` : 'DROP TRIGGER failing');
          file.close();
        },
      };
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
    const opened: Pick<Leases, 'close'>[] = [];
    return {
      again: async (clock) => {
        const leases = await openEventStoreLeases(server.url, PATIENT, undefined, clock);
        opened.push(leases);
        return leases;
      },
      unsteady: async (clock) => {
        const proxy = await startFaultyProxy(server.port);
        const url = `esdb://127.0.0.1:${proxy.port}?tls=false`;
        const leases = await openEventStoreLeases(url, { ...PATIENT, retryMs: 200 }, undefined, clock);
        opened.push(leases, proxy);
        return {
          leases,
          setFailing: (isFailing) => {
            proxy.faults.good = isFailing ? 0 : Infinity;
            proxy.cut();
          },
        };
      },
      close: async () => {
        for (const leases of opened) await leases.close();
        await server.stop();
      },
    };
  });
