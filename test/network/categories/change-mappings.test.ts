import { appendFacts } from '../../../src/network/decider';
import { changeMappings } from '../../../src/network/categories/change-mappings';
import { Directory, directoryAt } from '../../../src/network/directory';
import { START } from '../../../src/kernel/event';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { importNetwork } from '../../../src/operations/import-network';
import { networkFile } from '../../world/workloads/network-file';
import { withLog } from '../../support/temporary-log';

const AT = '2026-03-01T12:00:00.000Z';

it('a mapping is decided by all that was appended before, however late the process is (decisions X60)', () =>
  withLog(async (log) => {
    await importNetwork(SYSTEM_CLOCK, log, networkFile('active'), { at: AT });
    const directory = await directoryAt(log);
    let known = await log.head();
    const event = {
      type: 'CategoryMapped',
      data: { feedId: 10, name: 'X', categoryId: '1', at: AT },
    } as const;
    await appendFacts(SYSTEM_CLOCK, log, [{ category: 'mapping', id: 10, event }], new Directory());
    const late = {
      directory,
      reachedInTime: async (position = START) => {
        for await (const { events } of log.readAll({ after: known }))
          for (const one of events) if (one.position <= position) directory.apply(one);
        known = position;
      },
    };
    const unmap = (line: number) => ({ line, change: { feedId: 10, name: 'X' } });
    const change = () =>
      changeMappings(SYSTEM_CLOCK, log, late, [unmap(1)], { at: AT, count: async () => [] });
    expect(await change()).toMatchObject({ events: 1, report: [{ outcome: 'unmapped' }] });
    expect(await change()).toMatchObject({ events: 0, report: [{ outcome: 'unchanged' }] });
  }));
