import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, rename, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Presence } from '../../../src/engines/embedded/leases';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { LeaseHolder } from '../../../src/runtime/lease-holder';
import { DIST } from '../../support/built';
import { openTestedEngines } from '../../support/engines';

let folder: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-presence-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

/** Another process with the data folder: its name, and the process. */
async function other() {
  const code = `
    const { Presence } = require(${JSON.stringify(join(DIST, 'src/engines/embedded/leases.js'))});
    const presence = new Presence(${JSON.stringify(folder)});
    console.log(presence.name);
    setInterval(() => presence, 1000);`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [printed] = (await once(child.stdout, 'data')) as [Buffer];
  return { name: printed.toString().trim(), child };
}

/** The file that a process locks. */
function fileOf(name: string): string {
  return join(folder, 'alive', `${name.slice(0, 36)}.lock`);
}

describe('A process (decisions N3)', () => {
  it('is known to be gone as soon as it is killed, and not before', async () => {
    const presence = new Presence(folder);
    const { name, child } = await other();
    expect([presence.isGone(name), presence.isGone(presence.name)]).toEqual([false, false]);
    // Who lives is not asked for again at once.
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(presence.isGone(name)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect([presence.isGone(name), presence.isGone(name)]).toEqual([true, true]);
    presence.close();
  });

  it('is unknown elsewhere: its lease is waited for', () => {
    const presence = new Presence(folder);
    for (const owner of [
      'one',
      '../alive/x',
      '0'.repeat(36),
      'b3b4ad0c-9f7e-4a55-8a2b-1d6b1c9f3f00',
      `b3b4ad0c-9f7e-4a55-8a2b-1d6b1c9f3f00-${'0'.repeat(16)}`,
    ])
      expect(presence.isGone(owner)).toBe(false);
    presence.close();
    const nowhere = new Presence('/dev/null/no-folder');
    expect(nowhere.isGone(presence.name)).toBe(false);
    nowhere.close();
  });

  it('is not gone since a copy of its data folder has its file, which nobody locks', async () => {
    const { name, child } = await other();
    const copy = join(folder, 'copy');
    await cp(join(folder, 'alive'), join(copy, 'alive'), { recursive: true });
    const elsewhere = new Presence(copy);
    expect(elsewhere.isGone(name)).toBe(false);
    // Nor if the copy takes the place of the original.
    await rename(join(folder, 'alive'), join(folder, 'original'));
    await rename(join(copy, 'alive'), join(folder, 'alive'));
    const here = new Presence(folder);
    expect(here.isGone(name)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(here.isGone(name)).toBe(false);
    for (const presence of [elsewhere, here]) presence.close();
  });

  it('of another machine is not gone: its locks may be unknown here', async () => {
    const { name, child } = await other();
    child.kill('SIGKILL');
    await once(child, 'exit');
    const presence = new Presence(folder);
    const place = name.slice(-16);
    expect(presence.isGone(name.replace(place, place.split('').reverse().join('')))).toBe(false);
    expect(presence.isGone(name)).toBe(true);
    presence.close();
  });

  it('leaves no files behind for ever', async () => {
    const killed = await other();
    killed.child.kill('SIGKILL');
    await once(killed.child, 'exit');
    const living = await other();
    const long = new Date(Date.now() - 2 * 60 * 60 * 1000);
    for (const { name } of [killed, living]) await utimes(fileOf(name), long, long);
    const presence = new Presence(folder);
    presence.close();
    expect(await readdir(join(folder, 'alive'))).toEqual([basename(fileOf(living.name))]);
  });
});

describe('A lease (decisions N3)', () => {
  it('of an owner that is gone is taken over at once, by one of several', async () => {
    const { folder: own, engines } = await openTestedEngines();
    const { leases } = engines;
    const holderOf = (owner: string, isGone?: (owner: string) => boolean): LeaseHolder =>
      new LeaseHolder(SYSTEM_CLOCK, leases, 'a-lease', owner, 30_000, isGone);
    expect(await holderOf('killed').acquire()).toBe(true);
    expect(await holderOf('waits').acquire()).toBe(false);
    expect(await holderOf('knows others', (owner) => owner === 'another').acquire()).toBe(false);
    const heirs = ['one', 'two', 'three'].map((name) => holderOf(name, (owner) => owner === 'killed'));
    const taken = await Promise.all(heirs.map((heir) => heir.acquire()));
    expect(taken.filter((isTaken) => isTaken)).toHaveLength(1);
    expect(await leases.owners('a-lease', Date.now(), 30_000)).toEqual([
      ['one', 'two', 'three'][taken.indexOf(true)],
    ]);
    await engines.close();
    await own.remove();
  });
});
