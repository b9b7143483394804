import fc from 'fast-check';
import { postedClaim, postedUpdate } from '../../src/services/claims/claims-body';
import { type Response } from '../support/app';
import { cases, FULL_SIZE } from '../support/size';
import { hostileValues } from './hostile-values';
import { CLAIM_TOKENS, claimOf, claimWorld, errorsIn, type Listed, xmlOf } from './claim-network';
import { XML_UTF8 } from './posted';

const world = claimWorld();
const SEED = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const JSON_UTF8 = { 'content-type': 'application/json; charset=utf-8' } as const;
const CSV_UTF8 = { 'content-type': 'text/csv; charset=utf-8' } as const;

/** Each operation with a body: its path, who sends it, and what the list is called. */
const TARGETS = [
  ['/claims', 'preisblickAll', 'claims'],
  ['/claims/check', 'preisblickAll', 'claims'],
  ['/claimUpdates', 'preisblickAll', 'claimUpdates'],
  ['/claimUpdates', 'nord', 'claimUpdates'],
  ['/uts/claimUpdates', 'nord', 'claimUpdates'],
] as const;

type Target = (typeof TARGETS)[number];

const send = ([path, as]: Target, body: string | Buffer, headers: object = {}): Promise<Response> =>
  world.app.post(`/1.0${path}`, { token: CLAIM_TOKENS[as], headers: { ...headers }, body });

/** The rows of claims with the same fields, none of which needs quotes. */
const csvOf = (items: readonly object[]): string =>
  [Object.keys(items[0] ?? {}), ...items.map((item) => Object.values(item) as unknown[])]
    .map((cells) => cells.join(','))
    .join('\n');

const TOO_LARGE =
  /^UTS_430 the claims have 1\d{6} bytes when stored: expected at most 1031168; post fewer at a time$/;

/** The end of the log: nothing was stored if it stays. */
const head = (): Promise<string> => world.app.engines.log.head();

/** A body that must be refused as a whole, with nothing stored. */
async function refuses(target: Target, body: string | Buffer, headers = {}): Promise<string> {
  const before = await head();
  const answer = await send(target, body, headers);
  expect([target[0], answer.statusCode >= 400 && answer.statusCode < 500, await head()]).toEqual([
    target[0],
    true,
    before,
  ]);
  return answer.body;
}

const claims = JSON.stringify({ claims: [claimOf('H-1')] });

describe('bodies that cannot be read are refused, and store nothing (decisions C7)', () => {
  it.each([
    ['nothing', ''],
    ['half of an object', '{"claims":[{'],
    ['two objects', `${claims}${claims}`],
    ['null', 'null'],
    ['a number', '1e999'],
    ['NaN', '{"claims":[{"programId":NaN}]}'],
    ['deep lists', `{"claims":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['deep objects', `${'{"claims":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['a deep field', `{"claims":[{"epi":${'['.repeat(5000)}${']'.repeat(5000)}}]}`],
    ['a raw control character', '{"claims":[{"epi":"a\u0001"}]}'],
    ['another encoding', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-16', Buffer.from(`\ufeff${claims}`, 'utf16le')],
    ['a list that is an object', '{"claims":{"0":{}},"claimUpdates":{"0":{}}}'],
  ] as const)('JSON: %s', async (_, body) => {
    for (const target of TARGETS) expect(await refuses(target, body)).toMatch(/UTS_2(10|11|40)/);
  });

  it.each([
    ['a document type', '<!DOCTYPE claims [<!ENTITY a "b">]><claims><claim><epi>&a;</epi></claim></claims>'],
    ['an external entity', '<!DOCTYPE c [<!ENTITY a SYSTEM "file:///etc/hostname">]><claims>&a;</claims>'],
    ['an undefined entity', '<claims><claim><epi>&a;</epi></claim></claims>'],
    ['two roots', '<claims/><claims/>'],
    ['another root', '<sales/>'],
    ['deep elements', `${'<a>'.repeat(20_000)}${'</a>'.repeat(20_000)}`],
    ['an open element', '<claims><claim>'],
    ['a control character', '<claims><claim><epi>\u0001</epi></claim></claims>'],
    ['text alone', 'claims'],
    ['an unbound prefix', '<claims><x:claim/></claims>'],
  ])('XML: %s', async (_, body) => {
    for (const target of TARGETS) expect(await refuses(target, body, XML_UTF8)).toMatch(/UTS_2(91|11)/);
  });

  it.each([
    ['nothing', ''],
    ['an open quote', 'epi,orderNumber\n"a,b\n'],
    ['NUL', '\u0000,\u0000\n1,2\n'],
    ['JSON', claims],
    ['one line without an end', 'x'.repeat(500_000)],
    ['a million separators', ','.repeat(800_000)],
    [
      'a hundred thousand columns',
      `epi,${Array.from({ length: 100_000 }, (_, at) => at.toString(36)).join(',')}\n1\n`,
    ],
    ['a million empty rows', `epi\n${'\n'.repeat(800_000)}`],
  ])('CSV: %s', async (_, body) => {
    for (const target of TARGETS.slice(0, 2))
      expect(await refuses(target, body, CSV_UTF8)).toMatch(/UTS_2(12|00)/);
  });

  it('elements within a field are no text', async () => {
    const body = xmlOf('claims', [claimOf('BOLD')]).replace('BOLD', '<b>1</b>');
    expect(await refuses(TARGETS[0], body, XML_UTF8)).toContain('UTS_430');
  });
});

describe('bodies that are odd, and accepted', () => {
  it('may have a byte order mark, comments and CDATA', async () => {
    expect(
      (await send(TARGETS[0], `\ufeff${JSON.stringify({ claims: [claimOf('MARK')] })}`)).statusCode,
    ).toBe(200);
    const xml = xmlOf('claims', [claimOf('CDATA')]).replace('>CDATA<', '><!-- a --><![CDATA[C&D]]><');
    expect((await send(TARGETS[0], `\ufeff${xml}`, XML_UTF8)).statusCode).toBe(200);
    const [newest] = await world.list(';limit=1', 'nord');
    expect(newest?.orderNumber).toBe('C&D');
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'CSV and XML may have an unknown field %s (decisions A15)',
    async (name) => {
      const rows = csvOf([claimOf(`CSV-${name}`, Object.fromEntries([[name, 'x']]))]);
      const xml = xmlOf('claims', [claimOf(`XML-${name}`)]).replace('<claim>', `<claim><${name}/>`);
      for (const [body, type] of [
        [rows, CSV_UTF8],
        [xml, XML_UTF8],
      ] as const) {
        const answer = await send(TARGETS[0], body, type);
        expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([200, name]);
      }
    },
  );

  it('members of objects that JavaScript knows are fields like others', async () => {
    const body = JSON.stringify({ claims: [claimOf('PROTO')] }).replace(
      '{"aff',
      '{"__proto__":{"epi":"x"},"constructor":1,"aff',
    );
    const answer = await send(TARGETS[0], body);
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([200, '__proto__, constructor']);
    const [newest] = await world.list(';limit=1', 'nord');
    expect(newest).not.toHaveProperty('epi');
  });
});

const HOSTILE = hostileValues({ longest: 9_000 });

const CODES = /^UTS_(2(11|40|60|65)|306|394|396|397|402|403|404|405|430) claim(s|Updates)(\[\d+\]| )/;

/** All of them, or at a small size a quarter: every value is there in some field. */
function valuesFor(field: string, fields: object): readonly unknown[] {
  const step = FULL_SIZE ? 1 : 4;
  const first = Object.keys(fields).indexOf(field) % step;
  return HOSTILE.filter((_, at) => at % step === first);
}

describe('a hostile value at each field (decisions C2)', () => {
  it.each(Object.keys(postedClaim.fields))('of a claim: %s', async (field) => {
    for (const [at, value] of valuesFor(field, postedClaim.fields).entries()) {
      const before = await head();
      const answer = await world.file([claimOf(`F-${field}-${at}`, { [field]: value })]);
      expect([value, answer.statusCode < 500]).toEqual([value, true]);
      if (answer.statusCode >= 400) await refused(answer, before);
    }
    await readable();
  });

  it.each(Object.keys(postedUpdate.fields))('of an update: %s', async (field) => {
    const { claimId } = await world.create(`U-${field}`);
    for (const [at, value] of valuesFor(field, postedUpdate.fields).entries()) {
      const before = await head();
      const revision = { ...claimOf(`U-${field}-${at}`), claimId, versionNo: 0, [field]: value };
      const revised = await world.json('/claimUpdates', { claimUpdates: [revision] }, 'preisblick');
      if (revised.statusCode >= 400) await refused(revised, before);
      else expect(revised.statusCode).toBe(200);
      const between = await head();
      const ruled = await world.rule([{ claimId, statusIdClaim: 3, versionNo: 99, [field]: value }]);
      await refused(ruled, between);
    }
    await readable();
  });

  /** The faults name what is wrong, in short, and nothing was stored. */
  async function refused(answer: Response, before: string): Promise<void> {
    expect(answer.statusCode).toBeLessThan(500);
    for (const error of errorsIn(answer)) {
      expect(error).toMatch(CODES);
      expect(error.length).toBeLessThan(1000);
    }
    expect(await head()).toBe(before);
  }

  /** What was accepted can be read in every format. */
  async function readable(): Promise<void> {
    for (const extension of ['', '.xml', '.csv'])
      expect((await world.send('GET', `/claims${extension}`, 'nord')).statusCode).toBe(200);
  }
});

it(`random JSON is answered with less than 500 and never half stored (HOSTILE_SEED=${SEED})`, async () => {
  const field = fc.constantFrom(...Object.keys(postedUpdate.fields), 'unknown');
  const value = fc.oneof(fc.constantFrom(...HOSTILE), fc.jsonValue({ maxDepth: 3 }));
  const item = fc.oneof(fc.dictionary(field, value), fc.jsonValue({ maxDepth: 2 }));
  const bodies = fc.sample(fc.tuple(fc.constantFrom(...TARGETS), fc.oneof(item, fc.array(item))), {
    numRuns: cases(1000, 150),
    seed: SEED,
  });
  for (const [target, list] of bodies) {
    const before = await head();
    const answer = await send(target, JSON.stringify({ [target[2]]: list }));
    expect([target, list, answer.statusCode < 500]).toEqual([target, list, true]);
    if (answer.statusCode >= 400) expect(await head()).toBe(before);
  }
});

describe('large bodies', () => {
  it('with 1,000 claims, each wrong in every field, are refused in one answer (decisions C3, C7)', async () => {
    const fields = Object.keys(postedClaim.fields);
    const wrong = Object.fromEntries(fields.map((name) => [name, {}]));
    const answer = await world.file(Array.from({ length: 1000 }, () => wrong));
    const errors = errorsIn(answer);
    expect([answer.statusCode, errors.length, errors.at(-1)?.slice(0, 18)]).toEqual([
      400,
      1001,
      `UTS_213 ${1000 * fields.length - 1000} more`,
    ]);
  });

  it('name numbers that were rounded without reading the body again for each', async () => {
    const items = Array.from({ length: 1000 }, (_, at) => ({
      ...claimOf(`R-${at}`),
      eventId: 'HUGE',
      programId: 'HUGE',
    }));
    const body = JSON.stringify({ claims: items }).replaceAll('"HUGE"', '1e400');
    const errors = errorsIn(await send(TARGETS[0], body));
    expect(errors[1999 > errors.length ? 0 : 1]).toContain("got '1e400'");
    expect(errors).toHaveLength(1001);
  });

  it.each([
    [
      '1,000 claims in JSON',
      JSON.stringify({
        claims: Array.from({ length: 1000 }, (_, at) =>
          claimOf(`S-${1000 + at}`, { advertiserInformation: 'x'.repeat(725) }),
        ),
      }),
      JSON_UTF8,
    ],
    [
      'many backslashes in CSV',
      csvOf(
        Array.from({ length: 200 }, (_, at) =>
          claimOf(`B-${at}`, { advertiserInformation: '\\'.repeat(4000) }),
        ),
      ),
      CSV_UTF8,
    ],
  ])(
    'that are larger than an append when stored are refused by a check too: %s (decisions C3)',
    async (_, body, type) => {
      expect(Buffer.byteLength(body)).toBeLessThan(900 * 1024);
      const before = await head();
      for (const target of TARGETS.slice(0, 2)) {
        const errors = errorsIn(await send(target, body, type));
        expect(errors).toEqual([expect.stringMatching(TOO_LARGE)]);
      }
      expect(await head()).toBe(before);
    },
  );

  it('of 900 KB are accepted (decisions C3)', async () => {
    const note = 'x'.repeat(4000);
    const items = Array.from({ length: 210 }, (_, at) => claimOf(`L-${at}`, { advertiserInformation: note }));
    const answer = await world.file(items);
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    expect(
      (await world.list(';limit=1000', 'nord')).filter(({ orderNumber }: Listed) =>
        orderNumber.startsWith('L-'),
      ),
    ).toHaveLength(210);
  });
});
