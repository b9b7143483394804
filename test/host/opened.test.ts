import { Opened } from '../../src/host/opened';

describe('what has been opened', () => {
  test('is closed in the opposite order, once', async () => {
    const opened = new Opened();
    const closed: string[] = [];
    for (const name of ['engines', 'projector', 'api']) opened.push(async () => void closed.push(name));
    await opened.close();
    await opened.close();
    expect(closed).toEqual(['api', 'projector', 'engines']);
  });

  test('is closed whatever fails, and the first failure is told', async () => {
    const opened = new Opened();
    const closed: string[] = [];
    opened.push(async () => void closed.push('engines'));
    for (const name of ['projector', 'api']) opened.push(() => Promise.reject(new Error(name)));
    await expect(opened.close()).rejects.toThrow('api');
    expect(closed).toEqual(['engines']);
  });
});
