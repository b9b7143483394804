import { openAll, OpenedResources } from '../../src/app/opened';

describe('opened resources', () => {
  test('are closed once, in reverse order', async () => {
    const opened = new OpenedResources();
    const closed: string[] = [];
    for (const name of ['engines', 'projector', 'api']) opened.push(async () => void closed.push(name));
    await opened.close();
    await opened.close();
    expect(closed).toEqual(['api', 'projector', 'engines']);
  });

  test('are all closed despite failures, and every failure is reported', async () => {
    const opened = new OpenedResources();
    const closed: string[] = [];
    const failures = [new Error('api'), new TypeError('projector')];
    opened.push(async () => void closed.push('engines'));
    for (const failure of failures.toReversed()) opened.push(() => Promise.reject(failure));
    await expect(opened.close()).rejects.toMatchObject({
      errors: failures,
      message: 'Error: api; TypeError: projector',
    });
    expect(closed).toEqual(['engines']);
  });

  test('are closed when a further one cannot be opened: that failure is raised, those of closing are reported', async () => {
    const closed: string[] = [];
    const reported: unknown[] = [];
    const closing = new Error('engines');
    const opening = openAll(
      async (opened) => {
        opened.push(() => Promise.reject(closing));
        opened.push(async () => void closed.push('projector'));
        throw new Error('api');
      },
      (failure) => reported.push(failure),
    );
    await expect(opening).rejects.toThrow('api');
    expect([closed, reported]).toEqual([['projector'], [closing]]);
  });

  test('are closed at once when the signal aborts, which ends what waits for them; nothing else is opened', async () => {
    const stop = new AbortController();
    const closed: string[] = [];
    const opening = openAll(
      async (opened) => {
        await new Promise<void>((resolve) => {
          opened.push(async () => {
            closed.push('engines');
            resolve();
          });
          stop.abort();
        });
        opened.push(async () => void closed.push('projector'));
        closed.push('never');
      },
      (failure) => closed.push(String(failure)),
      stop.signal,
    );
    await expect(opening).rejects.toBe(stop.signal.reason);
    expect(closed).toEqual(['engines', 'projector']);
  });
});
