import { networkSchema } from '../../src/network/network-file';
import { readConfig } from '../../src/settings/config';
import { serve, type StartProcess } from '../../src/app/serve';
import { settingsTable } from '../../src/settings/settings';
import { FaultyElasticsearch } from '../support/faulty-elasticsearch';
import { cliFolder, run } from './run';

const { dataDir } = cliFolder();
const dataDirFlag = (): readonly string[] => ['--data-dir', dataDir()];

describe('affilog', () => {
  it.each([
    [['--help'], /serve .*network .*rebuild .*settings /s],
    [['serve', '--help'], /--demo .*--roles .*--port <value> .*--max-body /s],
    [['network', 'import', '--help'], /<file>.*--prune .*--data-dir /s],
    [['rebuild', '--help'], /<projection\.\.\.>/],
    [['parked', '--help'], /list .*show .*retry .*skip /s],
  ])('%j prints help and exits with 0', async (args, expected) => {
    expect(await run(args)).toMatchObject({ code: 0, out: expect.stringMatching(expected), err: '' });
  });

  it.each([
    [[], /Usage: affilog/],
    [['serv'], /unknown command 'serv'/],
    [['serve', '--prt', '1'], /unknown option '--prt'/],
    [['serve', '--roles', 'api,cook'], /Expected roles: api, projector, automation, notifier/],
    [['network', 'import'], /missing required argument 'file'/],
    [['rebuild'], /missing required argument 'projection'/],
    [['serve', '--port', 'x'], /^affilog: --port=x: expected an integer from 0 to 65535\n$/],
  ])('%j is wrong usage: message on stderr, exit code 2', async (args, expected) => {
    expect(await run(args)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(expected) });
  });

  it('refuses an invalid environment variable with one line that names it, exit code 2', async () => {
    expect(await run(['serve'], { MAX_BODY: 'much' })).toEqual({
      code: 2,
      out: '',
      err: 'affilog: MAX_BODY=much: expected a size such as 1048576, 500MB or 1GB\n',
    });
  });

  it.each([
    ['EVENT_LOG', 'esdb://affilog:secret@host:port', 'expected esdb://['],
    ['EVENT_LOG', 'esdb://affilog:secret@host?colour=red', 'colour is not an option of esdb:// URLs'],
    [
      'EVENT_LOG',
      'esdb://affilog:secret@host?tlsCAFile=/no/ca.pem',
      'tlsCAFile=/no/ca.pem: expected a readable file',
    ],
    ['READ_STORE', 'https://affilog:secret@host/UPPER', '"UPPER" in the URL is not a valid index prefix'],
    ['READ_STORE', 'https://affilog:secret@host:port', 'the URL is malformed; expected http://'],
  ])('refuses an unusable URL as %s, %s, with one line, exit code 2', async (setting, url, why) => {
    const { code, out, err } = await run(['parked', 'list', ...dataDirFlag()], { [setting]: url });
    expect([code, out]).toEqual([2, '']);
    expect(err.startsWith(`affilog: ${setting}: ${why}`)).toBe(true);
    expect(err).toMatch(/^[^\n]+\n$/);
    expect(err).not.toContain('secret');
  });

  it('names the flag of a copy whose URL is invalid, in one line, exit code 2', async () => {
    const args = ['log', 'copy', '--from', 'sqlite:', '--to', 'esdb://host:port', ...dataDirFlag()];
    expect(await run(args)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^affilog: --to: expected esdb:.*\n$/),
    });
  });

  it('sends the API key to the configured Elasticsearch', async () => {
    const server = await FaultyElasticsearch.start();
    server.fault = () => ({ status: 401, error: 'security_exception' });
    const settings = { READ_STORE: server.url, READ_STORE_API_KEY: 'a2V5' };
    expect(await run(['parked', 'list', ...dataDirFlag()], settings)).toEqual({
      code: 1,
      out: '',
      err:
        'affilog: the read store is not available: access is denied (401); retrying\n' +
        'affilog: the read store is not available: access is denied (401)\n',
    });
    expect(new Set(server.asked.map(({ authorization }) => authorization))).toEqual(new Set(['ApiKey a2V5']));
    await server.stop();
  });

  it('settings and network schema print the published documents', async () => {
    expect(await run(['settings', '--markdown'])).toEqual({ code: 0, out: settingsTable(), err: '' });
    expect(await run(['network', 'schema'])).toEqual({ code: 0, out: networkSchema(), err: '' });
  });
});

describe('affilog serve', () => {
  it('prints its URL, stops at a stop signal, and exits with 0', async () => {
    const stopping = new AbortController();
    let stopped = false;
    const start: StartProcess = async (config, options) => {
      expect(config).toMatchObject({ port: 0, dataDir: dataDir() });
      expect(options).toMatchObject({ demo: true, roles: ['api', 'projector', 'automation', 'notifier'] });
      setImmediate(() => stopping.abort());
      return {
        url: 'http://127.0.0.1:4711',
        stop: async () => {
          stopped = true;
        },
      };
    };
    const args = ['serve', '--demo', '--port', '0', '--data-dir', dataDir()];
    expect(await run(args, { PORT: '5' }, { start, stopping })).toEqual({
      code: 0,
      out: 'listening on http://127.0.0.1:4711\n',
      err: '',
    });
    expect(stopped).toBe(true);
  });

  it('runs the given roles', async () => {
    const stopping = new AbortController();
    const start: StartProcess = async (_, { roles }) => {
      expect(roles).toEqual(['projector']);
      setImmediate(() => stopping.abort());
      return { stop: async () => undefined };
    };
    expect(await run(['serve', '--roles', 'projector'], {}, { start, stopping })).toMatchObject({
      code: 0,
      out: 'running projector\n',
    });
  });

  it('exits with 0 at a stop signal during the start, once what has been opened is closed', async () => {
    const stopping = new AbortController();
    let closed = false;
    const start: StartProcess = async (_, __, signal) => {
      stopping.abort();
      await new Promise(setImmediate);
      closed = true;
      throw signal.reason;
    };
    expect(await run(['serve'], {}, { start, stopping })).toEqual({ code: 0, out: '', err: '' });
    expect(closed).toBe(true);
  });

  const FORCED =
    'stopped after 0.02 s without waiting for what had not ended: nothing that was acknowledged is lost';

  it.each<[what: string, start: StartProcess, printed: readonly string[]]>([
    ['start', () => new Promise(() => undefined), [FORCED]],
    ['stop', async () => ({ stop: () => new Promise(() => undefined) }), ['running projector', FORCED]],
  ])('does not wait for a %s that takes too long to end, and says so', async (_, stuck, expected) => {
    const printed: string[] = [];
    const print = (line: string): void => void printed.push(line);
    const options = { roles: ['projector'], demo: false } as const;
    const signal = AbortSignal.timeout(20);
    await serve(stuck, readConfig({}), options, signal, { say: print, warn: print }, 20);
    expect(printed).toEqual(expected);
  });

  it('prints one line when it cannot start, with the remedy', async () => {
    const busy = Object.assign(new Error('listen EADDRINUSE: address already in use 127.0.0.1:3000'), {
      syscall: 'listen',
      code: 'EADDRINUSE',
    });
    expect(await run(['serve'], {}, { start: () => Promise.reject(busy) })).toEqual({
      code: 1,
      out: '',
      err: 'affilog: listen EADDRINUSE: address already in use 127.0.0.1:3000: choose another port with --port\n',
    });
  });

  it('prints the stack of an unexpected error', async () => {
    const start: StartProcess = () => Promise.reject(new TypeError('x is undefined'));
    const { code, err } = await run(['serve'], {}, { start });
    expect(code).toBe(1);
    expect(err).toMatch(/^affilog: TypeError: x is undefined\naffilog: {5}at /);
  });

  it('fails when stopping fails', async () => {
    const stopping = new AbortController();
    const start: StartProcess = async () => {
      setImmediate(() => stopping.abort());
      return { stop: () => Promise.reject(new Error('stuck')) };
    };
    expect(await run(['serve'], {}, { start, stopping })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^affilog: Error: stuck\n/),
    });
  });
});
