import { mkdir, writeFile } from 'node:fs/promises';
import { version } from '../../package.json';
import { cliFolder, run } from './run';

const { pathOf, dataDir } = cliFolder();

/** The rows of `affilog settings`, by name. */
async function settings(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, string>>> {
  const { out } = await run(['settings', ...args], environment);
  const rows = out.trim().split('\n');
  return Object.fromEntries(
    rows.map((row): [string, string] => [
      row.split(' ')[0] ?? '',
      row.replace(/^\S+ +/, '').replace(/ {2,}/, ' | '),
    ]),
  );
}

describe('affilog --version', () => {
  it('prints the version of the package', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });
});

describe('affilog settings', () => {
  it('shows the values in force and where each comes from', async () => {
    expect(
      await settings(['--port', '4000', '--host', '::1'], { PORT: '5', MAX_BODY: '2MB', LOG_LEVEL: ' ' }),
    ).toMatchObject({
      PORT: '4000 | --port',
      HOST: '::1 | --host',
      MAX_BODY: '2MB | environment',
      LOG_LEVEL: 'info | default',
      BASE_URL: '(not set) | default',
    });
  });

  it('hides the API key and passwords in URLs, also in malformed ones', async () => {
    const environment = {
      READ_STORE: 'https://affilog:se/cr@et@es.example:9200/shop',
      READ_STORE_API_KEY: 'a2V5',
    };
    expect(await settings(['--event-log', 'esdb://affilog:secret@host:port'], environment)).toMatchObject({
      EVENT_LOG: 'esdb://***@host:port | --event-log',
      READ_STORE: 'https://***@es.example:9200/shop | environment',
      READ_STORE_API_KEY: '(hidden) | environment',
    });
  });

  it('names the file of a secret, and help says why to use one (decisions X99)', async () => {
    expect(
      await settings(['--notify-key', '@/run/secrets/key'], { READ_STORE_API_KEY: '@key' }),
    ).toMatchObject({
      NOTIFY_KEY: '@/run/secrets/key | --notify-key',
      READ_STORE_API_KEY: '@key | environment',
    });
    expect(await settings([], { NOTIFY_KEY: `@@${'k'.repeat(40)}` })).toMatchObject({
      NOTIFY_KEY: '(hidden) | environment',
    });
    for (const command of [['serve'], ['parked', 'list'], ['log', 'copy'], ['receiver']]) {
      const help = (await run([...command, '--help'])).out.replace(/\s+/g, ' ');
      expect(help).toMatch(/`ps` shows /);
      expect(help).toContain('@FILE');
    }
  });

  it('warns of bodies that are refused although MAX_BODY allows them (decisions X100)', async () => {
    const { code, err } = await run(['settings', '--body-space', '1GB'], {});
    expect(code).toBe(0);
    expect(err).toMatch(/^affilog: products of more than 536870912 bytes are refused, .*\n$/);
  });

  it('shows them even if one is invalid, and then names it: exit code 2', async () => {
    const { code, out, err } = await run(['settings'], { CLICK_URL: 'ftp://me:secret@clk.example' });
    expect(code).toBe(2);
    expect(out).toMatch(/^CLICK_URL +ftp:\/\/\*\*\*@clk\.example +environment$/m);
    expect(err).toBe('affilog: CLICK_URL=ftp://***@clk.example: expected an http or https URL\n');
  });
});

describe('A data folder that cannot be used is named with the cause', () => {
  it('when it cannot be created', async () => {
    await writeFile(pathOf('file'), '');
    const folder = pathOf('file/data');
    expect(await run(['parked', 'list'], { DATA_DIR: folder })).toEqual({
      code: 1,
      out: '',
      err: `affilog: the data folder cannot be created: ENOTDIR: not a directory, mkdir '${folder}'\n`,
    });
  });

  it('when it cannot be written', async () => {
    const { code, out, err } = await run(['network', 'export'], { DATA_DIR: '/proc/self/net' });
    expect([code, out]).toEqual([1, '']);
    // For root, everything is writable until it is tried.
    expect(err).toMatch(
      /^affilog: the (data folder cannot be written: EACCES.*|event log is not available: .*)\/proc\/self\/net.*\n$/,
    );
  });

  it('when a file in it cannot be opened', async () => {
    await mkdir(`${dataDir()}/log.sqlite`, { recursive: true });
    const { code, err } = await run(['network', 'export'], { DATA_DIR: dataDir() });
    expect(code).toBe(1);
    expect(err).toBe(
      `affilog: the event log is not available: its file cannot be opened: ${dataDir()}/log.sqlite (Failed to open database: unable to open database file)\n`,
    );
  });
});
