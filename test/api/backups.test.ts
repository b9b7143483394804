import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { without } from '../../src/kernel/values';
import { whileLocked } from '../../src/engines/data-folder';
import { TestApp } from '../support/app';
import { NETWORK, OTHER_TOKENS, TOKENS } from './network';

const token = OTHER_TOKENS.operator;
const PATH = '/ops/1.0/backups';

let folder: string;
let app: TestApp;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-backups-'));
  app = await TestApp.start({ network: NETWORK, settings: { BACKUP_DIR: folder } });
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

describe('POST /ops/1.0/backups (decisions X118)', () => {
  it('makes a backup below BACKUP_DIR, and continues it; both are recorded', async () => {
    const made = await app.post(`${PATH};name=daily;reason=first`, { token });
    expect([made.statusCode, made.json()]).toEqual([
      200,
      expect.objectContaining({ name: 'daily', hasKey: false }),
    ]);
    const { events } = made.json<{ events: number }>();
    const again = (await app.post(`${PATH};name=daily`, { token })).json<{ events: number; added: number }>();
    expect(again.added).toBeGreaterThan(0);
    expect(again.events).toBe(events + again.added);
    const listed = await app.get('/ops/1.0/actions', { token });
    expect(listed.json()).toMatchObject([
      { action: 'backup', state: 'done', asked: [{ name: 'name', value: 'daily' }] },
      { action: 'backup', state: 'done', reason: 'first' },
    ]);
  });

  it('refuses one while another process backs up into its folder', async () => {
    await mkdir(join(folder, 'taken'));
    const refused = await whileLocked(join(folder, 'taken', 'backup.lock'), () =>
      app.post(`${PATH};name=taken`, { token }),
    );
    expect([refused?.statusCode, refused?.body]).toEqual([
      409,
      expect.stringContaining('another backup into this folder is under way: wait until it has ended'),
    ]);
    expect((await app.post(`${PATH};name=taken`, { token })).statusCode).toBe(200);
  });

  it('refuses names that lead elsewhere, and names no path', async () => {
    for (const name of ['..', 'a%2Fb', '.', '-', 'x'.repeat(51)])
      expect([name, (await app.post(`${PATH};name=${name}`, { token })).statusCode]).toEqual([name, 400]);
    await mkdir(join(folder, 'other'));
    await writeFile(join(folder, 'other', 'file'), '');
    await writeFile(join(folder, 'plain'), '');
    for (const name of ['other', 'plain']) {
      const { statusCode, body } = await app.post(`${PATH};name=${name}`, { token });
      expect([statusCode, body]).toEqual([409, expect.stringContaining('the backup has failed')]);
      expect(body).not.toContain(folder);
    }
    expect((await app.post(`${PATH};name=daily`, { token: TOKENS.nord })).statusCode).toBe(403);
  });
});

describe('GET /ops/1.0/backups (decisions X144)', () => {
  it('lists what is below BACKUP_DIR, and reads a backup again', async () => {
    await app.post(`${PATH};name=hourly`, { token });
    await mkdir(join(folder, 'begun'));
    const listed = (await app.get(PATH, { token })).json<readonly { readonly name: string }[]>();
    const of = (name: string) => listed.find((one) => one.name === name);
    expect(of('hourly')).toEqual({
      ...{ name: 'hourly', at: expect.any(String), events: expect.any(Number), bytes: expect.any(Number) },
      ...{ position: expect.stringMatching(/^\d{19}$/), hasDeliveries: expect.any(Boolean), hasKey: false },
    });
    expect(of('begun')).toEqual({ name: 'begun', problem: 'it is not complete' });
    expect(of('plain')).toBeUndefined();
    const verified = await app.get(`${PATH}/verify;name=hourly`, { token });
    expect(verified.json()).toMatchObject({ ...without(of('hourly')!, 'name'), problems: [] });
    await writeFile(join(folder, 'hourly', 'log', 'events-000001.ndjson.gz'), 'damaged');
    const damaged = await app.get(`${PATH}/verify;name=hourly`, { token });
    expect([damaged.statusCode, damaged.json()]).toEqual([
      200,
      expect.objectContaining({ problems: [expect.stringMatching(/^log\/events-000001.* has 7 bytes/)] }),
    ]);
  });

  it('names no path, whatever is asked', async () => {
    for (const [name, status] of [
      ['..', 400],
      ['none', 404],
      ['begun', 404],
    ] as const) {
      const { statusCode, body } = await app.get(`${PATH}/verify;name=${name}`, { token });
      expect([name, statusCode, body.includes(folder)]).toEqual([name, status, false]);
    }
    expect((await app.get(PATH, { token: TOKENS.nord })).statusCode).toBe(403);
  });
});

it('without BACKUP_DIR it is refused (decisions X118)', async () => {
  const other = await TestApp.start({ network: NETWORK });
  const refused = await other.post(`${PATH};name=daily`, { token });
  expect([refused.statusCode, refused.body]).toEqual([400, expect.stringContaining('BACKUP_DIR is not set')]);
  expect((await other.get(PATH, { token })).body).toContain('BACKUP_DIR is not set');
  await other.close();
});
