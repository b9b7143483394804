import { ModulesContainer } from '@nestjs/core';
import { operationsOf } from '../../src/http/describe';
import { CONTENT_TYPES, type Format } from '../../src/wire/api/format';
import { type Operation } from '../../src/wire/api/openapi-operation';
import { buildNow, goodKeys, tokenFor } from '../api/asked-operations';
import { CLAIM_NETWORK } from '../api/claim-network';
import { TestApp } from '../support/app';

describe('Accept, without an extension, in every service (decisions A1)', () => {
  let app: TestApp;
  let reads: readonly Operation[];
  let log: Operation;
  beforeAll(async () => {
    app = await TestApp.start({ network: CLAIM_NETWORK });
    await buildNow(app);
    const all = operationsOf(app.http.get(ModulesContainer)).filter(({ method }) => method === 'GET');
    reads = all.filter(({ formats }) => formats.includes('json'));
    log = all.find(({ formats }) => !formats.includes('json'))!;
  });
  afterAll(() => app.close());

  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

  /** What the answer is in, a success or an error, and its status. */
  async function ask(operation: Operation, accept?: string): Promise<readonly [number, unknown]> {
    const path = operation.path.replaceAll(/:\w+/g, '1');
    const { statusCode, headers } = await app.get(`${path}${goodKeys(operation)}`, {
      token: tokenFor(operation),
      headers: accept === undefined ? {} : { accept },
    });
    return [statusCode, headers['content-type']];
  }

  /** Current paths of Document 3, legacy ones, and all others. */
  function pathsOf({ path }: Operation): 'current' | 'legacy' | 'other' {
    if (path.startsWith('/1.0/uts/')) return 'legacy';
    return /^\/1.0\/claim(?!s\/subscriptions)/.test(path) ? 'current' : 'other';
  }

  /** For each kind of paths: the format of the answer, by which formats the operation has. */
  type Chosen = Readonly<Record<'current' | 'legacy' | 'other', Format | 406>>;
  const same = (format: Format | 406): Chosen => ({ current: format, legacy: 'json', other: format });

  const CASES: readonly (readonly [string | undefined, Chosen])[] = [
    [undefined, same('json')],
    ['', same('json')],
    ['*/*', same('json')],
    ['application/*', same('json')],
    ['application/json', same('json')],
    ['application/xml', same('xml')],
    ['text/xml;q=0.1', same('xml')],
    ['application/json;q=0, */*', same('xml')],
    ['application/json;q=0, application/xml;q=0.5', same('xml')],
    ['application/xml;q=0, */*', same('json')],
    ['application/xml, application/json;q=0.9', { current: 'xml', legacy: 'json', other: 'json' }],
    ['application/xml, */*;q=0.1', { current: 'xml', legacy: 'json', other: 'json' }],
    [BROWSER, { current: 'xml', legacy: 'json', other: 'json' }],
    ['text/html', { current: 406, legacy: 'json', other: 406 }],
    ['application/json;q=0', { current: 406, legacy: 'json', other: 406 }],
  ];

  it.each(CASES)('%s', async (accept, chosen) => {
    const kinds = new Set<string>();
    for (const operation of reads) {
      const kind = pathsOf(operation);
      kinds.add(kind);
      const isAdmitted = chosen[kind] !== 406 && operation.formats.includes(chosen[kind]);
      // Totals for operators have CSV and no XML.
      const isCsv =
        chosen[kind] === 'xml' && accept?.includes('*/*') === true && operation.formats.includes('csv');
      const format = isAdmitted ? chosen[kind] : isCsv ? 'csv' : 406;
      const [status, type] = await ask(operation, accept);
      expect([operation.path, status === 406, type]).toEqual([
        ...[operation.path, format === 406],
        CONTENT_TYPES[format === 406 ? (chosen[kind] === 'xml' ? 'xml' : 'json') : format],
      ]);
    }
    expect([...kinds].sort()).toEqual(['current', 'legacy', 'other']);
  });

  it.each([
    [undefined, 200],
    ['*/*', 200],
    ['application/x-ndjson', 200],
    [BROWSER, 200],
    ['text/html', 406],
  ])('the log has no other format than lines of JSON: %s (decisions X107)', async (accept, status) => {
    const type = status === 200 ? CONTENT_TYPES.ndjson : CONTENT_TYPES.json;
    expect(await ask(log, accept)).toEqual([status, type]);
  });

  it('chooses CSV and calendars where there are any, if JSON is not admitted', async () => {
    for (const operation of reads.filter(({ formats }) => formats.includes('csv'))) {
      expect([operation.path, await ask(operation, 'text/csv')]).toEqual([
        operation.path,
        [200, CONTENT_TYPES.csv],
      ]);
      const [, type] = await ask(operation, 'text/csv, */*;q=0.5');
      expect([operation.path, type]).toEqual([
        operation.path,
        CONTENT_TYPES[pathsOf(operation) === 'current' ? 'csv' : 'json'],
      ]);
    }
    const vouchers = reads.find(({ formats }) => formats.includes('ics'));
    expect(await ask(vouchers!, 'text/calendar')).toEqual([200, CONTENT_TYPES.ics]);
  });
});
