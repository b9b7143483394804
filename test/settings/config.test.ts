import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { baseUrlAt, type Config, InvalidSetting, readConfig, warningsOf } from '../../src/settings/config';
import { FairBudget } from '../../src/runtime/fair-queue';
import {
  flagOf,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
  settingsTable,
} from '../../src/settings/settings';
import { cliFolder } from '../cli/run';

type Environment = Parameters<typeof readConfig>[0];

describe('The settings (ARCHITECTURE, Outside interface)', () => {
  it('have defaults', () => {
    expect(readConfig({})).toEqual({
      dataDir: './data',
      eventLog: 'sqlite:',
      readStore: 'sqlite:',
      logLevel: 'info',
      host: '127.0.0.1',
      port: 3000,
      vendor: 'affilog',
      trackerUrl: 'https://pdt.affilog.example',
      clickUrl: 'https://clk.affilog.example',
      maxBody: 1024 ** 3,
      bodyMemory: 256 * 1024 ** 2,
      bodySpace: 10 * 1024 ** 3,
      maxConnections: 10_000,
      priceHistory: 'asked',
      rollbackWithin: 86_400_000,
      searchAllFeeds: false,
      searchTime: 5_000,
      searchCache: 32 * 1024 ** 2,
      downloadSpace: 10 * 1024 ** 3,
      downloadRate: 10 * 1024,
      notifyKeep: 30 * 24 * 60 * 60 * 1000,
      rateLimits: {},
    });
  });

  it.each<[Environment, object]>([
    [
      { HOST: '0.0.0.0', PORT: '8080' },
      { host: '0.0.0.0', port: 8080 },
    ],
    [{ HOST: '::1' }, { host: '::1' }],
    [{ BASE_URL: 'https://api.net.example/v/' }, { baseUrl: 'https://api.net.example/v' }],
    [{ TRACKER_URL: 'http://t.example/' }, { trackerUrl: 'http://t.example' }],
    [{ MAX_BODY: '1048576' }, { maxBody: 1048576 }],
    [{ MAX_BODY: '500MB' }, { maxBody: 500 * 1024 ** 2 }],
    [{ MAX_BODY: '2 kb' }, { maxBody: 2048 }],
    [{ LOG_FORMAT: 'pretty' }, { logFormat: 'pretty' }],
    [{ PRICE_HISTORY: 'always' }, { priceHistory: 'always' }],
    [{ SEARCH_ALL_FEEDS: 'true' }, { searchAllFeeds: true }],
    [{ ROLLBACK_WITHIN: '0h' }, { rollbackWithin: 0 }],
    [{ SEARCH_TIME: '500ms' }, { searchTime: 500 }],
    [{ SEARCH_TIME: '20 s' }, { searchTime: 20_000 }],
    [{ SEARCH_CACHE: '1GB' }, { searchCache: 1024 ** 3 }],
    [{ RATE_LIMIT_PRODUCTS: '600', RATE_LIMIT_OPS: '1' }, { rateLimits: { PRODUCTS: 600, OPS: 1 } }],
    [{ EVENT_LOG: 'esdb://127.0.0.1:2113?tls=false' }, { eventLog: 'esdb://127.0.0.1:2113?tls=false' }],
    [{ READ_STORE: 'http://127.0.0.1:9200' }, { readStore: 'http://127.0.0.1:9200' }],
    [
      { PORT: '', HOST: ' ' },
      { port: 3000, host: '127.0.0.1' },
    ],
    [{ PATH: '/usr/bin' }, {}],
  ])('%j give %j', (environment, expected) => {
    expect(readConfig(environment)).toMatchObject(expected);
  });

  it('are frozen', () => {
    const config = readConfig({ RATE_LIMIT_OPS: '5' });
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.rateLimits)).toBe(true);
  });

  it('are overridden by flags', () => {
    const config = readConfig({ PORT: '1', DATA_DIR: '/a' }, { PORT: '2' });
    expect(config).toMatchObject({ port: 2, dataDir: '/a' });
  });

  it.each<[Environment, string]>([
    [{ PORT: 'http' }, 'PORT=http: expected an integer from 0 to 65535'],
    [{ PORT: '65536' }, 'PORT=65536: expected an integer from 0 to 65535'],
    [{ PORT: '-1' }, 'PORT=-1: expected an integer from 0 to 65535'],
    [{ HOST: 'a b' }, 'HOST=a b: expected a host name or address'],
    [{ EVENT_LOG: 'mysql://x' }, 'EVENT_LOG: expected sqlite: or esdb://...'],
    [{ READ_STORE: 'esdb://x' }, 'READ_STORE: expected sqlite:, http://... or https://...'],
    [{ LOG_FORMAT: 'xml' }, 'LOG_FORMAT=xml: expected one of pretty, json'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL=loud: expected one of trace, debug, info, warn, error, fatal, silent'],
    [{ VENDOR: 'A:B' }, 'VENDOR=A:B: expected a name of lower-case letters, digits and dashes'],
    [{ BASE_URL: 'api.net.example' }, 'BASE_URL=api.net.example: expected an http or https URL'],
    [{ TRACKER_URL: 'ftp://t' }, 'TRACKER_URL=ftp://t: expected an http or https URL'],
    [{ CLICK_URL: 'https://t?a=b' }, 'CLICK_URL=https://t?a=b: expected an http or https URL'],
    [{ MAX_BODY: '1TB' }, 'MAX_BODY=1TB: expected a size such as 1048576, 500MB or 1GB'],
    [{ MAX_BODY: '0' }, 'MAX_BODY=0: expected a size such as 1048576, 500MB or 1GB'],
    [{ ESDB_PORT: '65536' }, 'ESDB_PORT=65536: expected an integer from 0 to 65535'],
    [{ ESDB_PORT: 'on' }, 'ESDB_PORT=on: expected an integer from 0 to 65535'],
    [{ DOWNLOAD_SPACE: '10XB' }, 'DOWNLOAD_SPACE=10XB: expected a size such as 1048576, 500MB or 1GB'],
    [{ DOWNLOAD_RATE: '-1' }, 'DOWNLOAD_RATE=-1: expected a size such as 1048576, 500MB or 1GB'],
    [{ SEARCH_CACHE: '1KB' }, 'SEARCH_CACHE=1KB: expected 1MB at least'],
    [{ SEARCH_TIME: '5' }, 'SEARCH_TIME=5: expected a time such as 500ms or 5s'],
    [{ SEARCH_ALL_FEEDS: 'yes' }, 'SEARCH_ALL_FEEDS=yes: expected one of true, false'],
    [{ PRICE_HISTORY: 'never' }, 'PRICE_HISTORY=never: expected one of asked, always'],
    [{ NOTIFY_KEY: 'short' }, 'NOTIFY_KEY: expected at least 32 characters'],
    [{ NOTIFY_KEEP: '6d' }, 'NOTIFY_KEEP=6: expected 7d at least'],
    [{ NOTIFY_KEEP: '400d' }, 'NOTIFY_KEEP=400: expected 365d at most'],
    [{ ROLLBACK_WITHIN: '1d' }, 'ROLLBACK_WITHIN=1d: expected a number of hours from 0h to 720h'],
    [{ ROLLBACK_WITHIN: '721h' }, 'ROLLBACK_WITHIN=721: expected 720h at most'],
    [{ NOTIFY_KEEP: '2w' }, 'NOTIFY_KEEP=2w: expected a number of days from 7d to 365d'],
    [{ RATE_LIMIT_CLAIMS: '0' }, 'RATE_LIMIT_CLAIMS=0: expected an integer from 1 to 1000000000'],
  ])('%j are refused with one line', (environment, message) => {
    expect(() => readConfig(environment)).toThrow(new InvalidSetting(message));
  });

  it.each<[SettingName, string, string, string, keyof Config, number]>([
    ['BODY_MEMORY', '199MB', '200 mb', '200MB at least', 'bodyMemory', 200 * 1024 ** 2],
    ['BODY_SPACE', '1023KB', '1MB', '1MB at least', 'bodySpace', 1024 ** 2],
  ])('%s has a minimum, so that not every body is refused (decisions X100)', (name, ...values) => {
    const [low, least, expected, field, bytes] = values;
    expect(() => readConfig({ [name]: low })).toThrow(`${name}=${low}: expected ${expected}`);
    expect(readConfig({ [name]: least })[field]).toBe(bytes);
  });

  it('MAX_CONNECTIONS has a minimum, with which a token has a request (decisions X101)', () => {
    const expected = 'MAX_CONNECTIONS=1: expected an integer from 2 to 1000000';
    expect(() => readConfig({ MAX_CONNECTIONS: '1' })).toThrow(expected);
    const { maxConnections } = readConfig({ MAX_CONNECTIONS: '2' });
    expect(new FairBudget(maxConnections).take('a token', 1)).toBe(true);
  });

  it('warn when bodies that MAX_BODY allows are refused by BODY_SPACE (decisions X100)', () => {
    expect(warningsOf(readConfig({}))).toEqual([]);
    expect(warningsOf(readConfig({ MAX_BODY: '1GB', BODY_SPACE: '2GB' }))).toEqual([]);
    expect(warningsOf(readConfig({ MAX_BODY: '1001', BODY_SPACE: '1MB' }))).toEqual([]);
    expect(warningsOf(readConfig({ MAX_BODY: '1MB', BODY_SPACE: '2047KB' }))).toEqual([
      'products of more than 1048064 bytes are refused, although MAX_BODY is 1048576: a token has at most half of ' +
        'BODY_SPACE, which is 2096128. Set BODY_SPACE to 2097152 or more, or MAX_BODY to 1048064',
    ]);
  });

  it('warn when few downloads fit into DOWNLOAD_SPACE, which may have any size (decisions X52)', () => {
    expect(warningsOf(readConfig({ DOWNLOAD_SPACE: '4MB' }))).toEqual([]);
    expect(warningsOf(readConfig({ DOWNLOAD_SPACE: '4095KB' }))).toEqual([
      'feeds that need more than 4193280 bytes cannot be downloaded, and seldom two at a time: that is DOWNLOAD_SPACE. ' +
        'Set it to twice the largest feed in XML, or to 4194304 at least',
    ]);
  });

  it('are refused by the name of the flag if given as a flag', () => {
    expect(() => readConfig({}, { DATA_DIR: '/a', PORT: 'x' })).toThrow(/^--port=x: expected/);
  });

  describe('that are, or may contain, secrets (decisions X99)', () => {
    const { fileOf, pathOf } = cliFolder();
    const key = 'k'.repeat(40);

    it.each<[SettingName, string, string]>([
      ['EVENT_LOG', 'eventLog', 'esdb://me:secret@log.example:2113'],
      ['READ_STORE', 'readStore', 'https://me:secret@es.example'],
      ['READ_STORE_API_KEY', 'readStoreApiKey', 'a2V5'],
      ['NOTIFY_KEY', 'notifyKey', key],
      ['NOTIFY_RATES', 'notifyRates', 'https://me:secret@rates.example'],
    ])('%s is read from the file that @ names, as a flag too', async (name, field, value) => {
      const file = await fileOf(`${value}\n`, 'secret');
      expect(readConfig({ [name]: `@${file}` })).toHaveProperty(field, value);
      expect(readConfig({ [name]: 'sqlite:' }, { [name]: `@${file}` })).toHaveProperty(field, value);
      expect(SETTINGS[name]).toMatchObject({ fromFile: true });
    });

    it.each<[SettingName, string]>([
      ['NOTIFY_KEY', 'notifyKey'],
      ['READ_STORE_API_KEY', 'readStoreApiKey'],
    ])('%s that begins with @ is given with @@', (name, field) => {
      expect(readConfig({ [name]: `@@${key}` })).toHaveProperty(field, `@${key}`);
      expect(readConfig({}, { [name]: ` @@@${key}` })).toHaveProperty(field, `@@${key}`);
      expect(() => readConfig({ [name]: `@${key}` })).toThrow(
        /^\w+: the file k+ cannot be read: .* write @@ for a value that itself begins with @$/,
      );
    });

    it('are all that are: other values may begin with @', () => {
      const others = SETTING_NAMES.filter((name) => !('fromFile' in SETTINGS[name]));
      for (const name of others) expect(name).not.toMatch(/KEY|TOKEN|SECRET|PASSWORD/);
      expect(readConfig({ DATA_DIR: '@data' }).dataDir).toBe('@data');
    });

    it('are refused with the name of the setting and of the file, never with the content', async () => {
      const [empty, large] = [await fileOf(' \n', 'empty'), await fileOf('x'.repeat(65_537), 'large')];
      const short = await fileOf('short', 'short');
      for (const [file, problem] of [
        [pathOf('none'), `the file ${pathOf('none')} cannot be read: ENOENT`],
        [empty, `the file ${empty} is empty: expected the value in it`],
        [large, `the file ${large} cannot be read: it has more than 65536 bytes`],
        [short, 'expected at least 32 characters'],
      ] as const) {
        expect(() => readConfig({ NOTIFY_KEY: `@${file}` })).toThrow(`NOTIFY_KEY: ${problem}`);
        expect(() => readConfig({}, { NOTIFY_KEY: `@${file}` })).toThrow(`--notify-key: ${problem}`);
      }
    });
  });

  it('are documented in docs/settings.md', () => {
    const documented = readFileSync(join(__dirname, '../../docs/settings.md'), 'utf8');
    expect(documented).toBe(settingsTable());
    for (const name of SETTING_NAMES) {
      expect(documented).toContain(`\`${name}\``);
      expect(documented).toContain(`\`${flagOf(name)}\``);
    }
  });
});

it.each<[Environment, string]>([
  [{}, 'http://127.0.0.1:4711'],
  [{ HOST: '::1', PORT: '0' }, 'http://[::1]:4711'],
  [{ BASE_URL: 'https://api.net.example/v/' }, 'https://api.net.example/v'],
])('with %j the base URL of a server on port 4711 is %s (decisions A9)', (environment, url) => {
  expect(baseUrlAt(readConfig(environment), 4711)).toBe(url);
});
