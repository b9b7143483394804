import { Opened } from '../../src/host/opened';

describe('opened resources', () => {
  test('are closed once, in reverse order', async () => {
    const opened = new Opened();
    const closed: string[] = [];
    for (const name of ['engines', 'projector', 'api']) opened.push(async () => void closed.push(name));
    await opened.close();
    await opened.close();
    expect(closed).toEqual(['api', 'projector', 'engines']);
  });

  test('are all closed despite failures, and the first failure is raised', async () => {
    const opened = new Opened();
    const closed: string[] = [];
    opened.push(async () => void closed.push('engines'));
    for (const name of ['projector', 'api']) opened.push(() => Promise.reject(new Error(name)));
    await expect(opened.close()).rejects.toThrow('api');
    expect(closed).toEqual(['engines']);
  });
});
