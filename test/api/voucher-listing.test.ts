import { TestApp } from '../support/app';
import {
  DAY,
  idsOf,
  NOW,
  voucher,
  VOUCHER_NETWORK,
  VOUCHER_TOKENS,
  type VoucherClient,
  voucherClientOf,
} from './voucher-network';

let app: TestApp;
let now = NOW;
const { create, get, list, remove } = voucherClientOf(() => app);

beforeEach(async () => {
  now = NOW;
  app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(now) });
});
afterEach(() => app.close());

/** Ids listed at a time. */
async function at(time: number, keys = '', as?: VoucherClient): Promise<readonly number[]> {
  now = time;
  return idsOf(await list(keys, as));
}

it('a voucher is listed from the first to the last millisecond of its publication (decisions V3, V16)', async () => {
  const id = await create({
    publishStartDate: NOW + DAY,
    publishEndDate: NOW + 2 * DAY,
    startDate: NOW + 3 * DAY,
  });
  expect(await at(NOW + DAY - 1)).toEqual([]);
  expect(await at(NOW + DAY)).toEqual([id]);
  expect(await at(NOW + 2 * DAY)).toEqual([id]);
  expect(await at(NOW + 2 * DAY + 1)).toEqual([]);
  expect(await at(NOW + 2 * DAY + 1, ';minEndDate=0')).toEqual([]);
  expect(await at(NOW - DAY, '', 'nord')).toEqual([id]);
});

it('without a publication window it is listed until it has ended (decisions V3, V10, V16)', async () => {
  const id = await create({ startDate: NOW + DAY, endDate: NOW + 2 * DAY });
  expect(await at(NOW)).toEqual([id]);
  expect(await at(NOW + 2 * DAY)).toEqual([id]);
  expect(await at(NOW + 2 * DAY + 1)).toEqual([]);
  expect(await at(NOW + 2 * DAY + 1, ';minEndDate=0')).toEqual([id]);
  expect(await at(NOW + 2 * DAY + 1, `;maxStartDate=${NOW + DAY}`)).toEqual([id]);
  expect(await at(NOW + 2 * DAY + 1, '', 'nord')).toEqual([id]);
});

it('minEndDate and maxStartDate are inclusive bounds, in milliseconds or ISO 8601 (Document 2, List keys)', async () => {
  const id = await create({ startDate: NOW, endDate: NOW + DAY });
  expect(await at(NOW, `;minEndDate=${NOW + DAY}`)).toEqual([id]);
  expect(await at(NOW, `;minEndDate=${NOW + DAY + 1}`)).toEqual([]);
  expect(await at(NOW, `;maxStartDate=${NOW}`)).toEqual([id]);
  expect(await at(NOW, `;maxStartDate=${NOW - 1}`)).toEqual([]);
  expect(await at(NOW, ';minEndDate=2026-03-02T12:00:00Z;maxStartDate=2026-03-01T12:00:00Z', 'nord')).toEqual(
    [id],
  );
  expect(await at(NOW, ';maxStartDate=2026-03-01T11:59:59.999Z', 'nord')).toEqual([]);
});

it('activeAt lists what is valid at that time, for advertisers too, even before it was published (decisions V17)', async () => {
  const id = await create({ endDate: NOW + DAY });
  const planned = await create({ publishStartDate: NOW + DAY + 1 });
  for (const as of ['preisblick', 'nord'] as const) {
    expect(await at(NOW, `;activeAt=${NOW - DAY}`, as)).toEqual([id]);
    expect(await at(NOW, `;activeAt=${NOW + DAY}`, as)).toEqual([id]);
    expect(await at(NOW, `;activeAt=${NOW + DAY + 1}`, as)).toEqual([planned]);
  }
});

it('a change of connections and programs is in the next listing (decisions V10, V18)', async () => {
  const [any, only] = [await create(), await create({ siteIds: [1101] })];
  expect(idsOf(await list())).toEqual([only, any]);
  await app.import({ ...VOUCHER_NETWORK, connections: [{ siteId: 1202, programId: 101 }] }, { prune: true });
  expect(idsOf(await list())).toEqual([]);
  expect(idsOf(await list('', 'deals'))).toEqual([any]);
  const programs = VOUCHER_NETWORK.programs.map((one) => ({ ...one, status: 'paused' }));
  await app.import({ ...VOUCHER_NETWORK, programs });
  expect(idsOf(await list('', 'deals'))).toEqual([]);
  expect(idsOf(await list('', 'nord'))).toEqual([only, any]);
});

describe('The keys of a listing (Document 2, List keys)', () => {
  it('id, programId and voucherTypeId take several values (Document 2, List keys)', async () => {
    const [a, b, c] = [
      await create({ voucherTypeId: 3 }),
      await create({ programId: 102 }),
      await create({ voucherTypeId: 5 }),
    ];
    expect(idsOf(await list(`;id=${a},${b}`, 'nord'))).toEqual([b, a]);
    expect(idsOf(await list(`;id=${a};id=${c}`, 'nord'))).toEqual([c, a]);
    expect(idsOf(await list(';programId=102', 'nord'))).toEqual([b]);
    expect(idsOf(await list(';programId=101,102', 'preisblick'))).toEqual([c, a]);
    expect(idsOf(await list(';programId=201', 'nord'))).toEqual([]);
    expect(idsOf(await list(';voucherTypeId=3,5', 'nord'))).toEqual([c, a]);
  });

  it('keywords are looked for in title, descriptions and code, with marks and case ignored (decisions V11, P4)', async () => {
    const ids = [
      await create({ title: 'Größe XL' }),
      await create({ shortDescription: 'Lampen, günstig' }),
      await create({ description: 'all lámps on SALE' }),
      await create({ voucherTypeId: 1, code: 'SALE-7' }),
    ];
    const found = async (words: string) => {
      const listed = idsOf(await list(`;keywords=${words}`));
      return ids.flatMap((id, place) => (listed.includes(id) ? [place] : []));
    };
    expect(await found('grosse')).toEqual([0]);
    expect(await found('GUNSTIG')).toEqual([1]);
    expect(await found('sale')).toEqual([2, 3]);
    expect(await found('lamps+sale')).toEqual([2]);
    expect(await found('xl,7')).toEqual([0, 3]);
    expect(await found('*')).toEqual([0, 1, 2, 3]);
    expect(await found('sal')).toEqual([]);
  });

  it('siteSpecific tells vouchers for some sites from those for any (decisions V5, V11)', async () => {
    const any = await create();
    const one = await create({ siteIds: [1101] });
    const two = await create({ siteIds: [1101, 1202] });
    const shown = await list(';siteSpecific=true');
    expect(shown.map(({ id, siteSpecific, exclusive }) => [id, siteSpecific, exclusive])).toEqual([
      [two, true, false],
      [one, true, true],
    ]);
    expect(idsOf(await list(';siteSpecific=false'))).toEqual([any]);
    expect(idsOf(await list(';siteSpecific=false', 'nord'))).toEqual([any]);
  });

  it('siteId asks for what is usable on a site that is connected (decisions V11)', async () => {
    const any = await create();
    const first = await create({ siteIds: [1202] });
    const second = await create({ siteIds: [1203] });
    const swedish = await create({ programId: 102 });
    const on = async (sites: string, as: VoucherClient) => idsOf(await list(`;siteId=${sites}`, as));
    expect(await on('1202', 'deals')).toEqual([first, any]);
    expect(await on('1202,1203', 'deals')).toEqual([second, first, any]);
    expect(await on('1201', 'deals')).toEqual([swedish]);
    expect(await on('1101', 'deals')).toEqual([]);
    expect(await on('1102', 'preisblick')).toEqual([]);
    expect(await on('1203', 'nord')).toEqual([second, any]);
    expect(await on('9999', 'nord')).toEqual([]);
  });

  it('languageId filters for everyone, its case ignored (decisions V11)', async () => {
    const id = await create({ languageId: 'DE' });
    await create({ languageId: 'sv' });
    await create();
    for (const as of ['nord', 'preisblick'] as const)
      for (const code of ['de', 'De']) expect(idsOf(await list(`;languageId=${code}`, as))).toEqual([id]);
  });

  it('the latest update comes first, then the higher id; pages begin at 0 (decisions V12; Document 2, Limits: List page default)', async () => {
    const ids = [];
    for (let number = 0; number < 11; number += 1) ids.push(await create({ sourceId: `n${number}` }));
    now += 1000;
    await create({ sourceId: 'n3', title: 'Changed' });
    const order = [ids[3]!, ...ids.filter((_, number) => number !== 3).reverse()];
    expect(idsOf(await list())).toEqual(order);
    expect(idsOf(await list(';pageSize=4'))).toEqual(order.slice(0, 4));
    expect(idsOf(await list(';pageSize=4;page=2'))).toEqual(order.slice(8));
    expect(idsOf(await list(';pageSize=4;page=3'))).toEqual([]);
  });

  it('random is an order of its own for each seed, the same for the same one, over all pages (decisions V6)', async () => {
    for (let number = 0; number < 12; number += 1) await create();
    const one = idsOf(await list(';random=7'));
    expect(one).toEqual([12, 4, 6, 10, 5, 11, 8, 3, 1, 7, 9, 2]);
    expect(idsOf(await list(';random=7;pageSize=5;page=1'))).toEqual(one.slice(5, 10));
    expect(idsOf(await list(';random=8'))).not.toEqual(one);
    expect([...one].sort((a, b) => a - b)).toEqual(idsOf(await list()).toReversed());
  });

  it('the link of a token without a site bears its first connected site that may use the voucher (decisions V13)', async () => {
    const any = await create();
    const second = await create({ siteIds: [1203] });
    const links = await list('', 'deals');
    expect(links.map(({ id, defaultTrackUri }) => [id, defaultTrackUri])).toEqual([
      [second, 'https://clk.affilog.example/click?a(1203)p(101)ttid(13)'],
      [any, 'https://clk.affilog.example/click?a(1202)p(101)ttid(13)'],
    ]);
  });
});

it('a listing has 1,000 vouchers unless it is asked for fewer, and any page can be had (Document 2, Limits: List pageSize default; decisions V16)', async () => {
  const many = Array.from({ length: 1000 }, () => voucher({ description: 'x' }));
  for (const count of [1000, 5]) {
    const body = JSON.stringify(many.slice(0, count));
    const answer = await app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS.nord, body });
    expect(answer.statusCode).toBe(200);
  }
  await app.settled();
  expect(await list()).toHaveLength(1000);
  expect(await list(';pageSize=5000', 'nord')).toHaveLength(1000);
  expect(await list(';page=1')).toHaveLength(5);
  expect(await list(';page=100')).toEqual([]);
}, 120_000);

describe('Beyond the document (decisions V17)', () => {
  it('a bulk post answers each voucher in its place, and stores the good ones (decisions V17)', async () => {
    const body = JSON.stringify([
      voucher({ sourceId: 'a', title: 'First' }),
      voucher({ title: '' }),
      voucher({ sourceId: 'a', title: 'Second' }),
      'nothing',
      voucher({ programId: 201 }),
      voucher(),
    ]);
    const answer = await app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS.nord, body });
    expect(answer.statusCode).toBe(200);
    const results = answer.json<{ id?: number; errors?: { code: string; message: string }[] }[]>();
    expect(results.map(({ id, errors }) => errors?.[0]?.code ?? typeof id)).toEqual([
      'number',
      '101',
      'number',
      '101',
      '102',
      'number',
    ]);
    expect(results[1]).toEqual({ errors: [{ code: '101', message: 'title must be set' }] });
    expect(results[0]).toEqual(results[2]);
    const [last, first] = await list('', 'nord');
    expect([first!.title, last!.title].sort()).toEqual(['Free delivery', 'Second']);
    expect(await list('', 'nord')).toHaveLength(2);
    const empty = await app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS.nord, body: '[]' });
    expect([empty.statusCode, empty.body]).toEqual([200, '[]']);
  });

  it('versions tell what each event has changed, after a deletion too, to the owner only (decisions V17, V18, X42)', async () => {
    const id = await create({ sourceId: 's', languageId: 'de' });
    now += 1000;
    await create({ sourceId: 's', title: 'New', landingUrl: 'https://nord.example/' });
    await remove(id);
    const { body } = await get(`/${id}/versions;dateOutputFormat=iso8601`, 'nord');
    const fields =
      'title,voucherTypeId,shortDescription,description,startDate,endDate,languageId,programId,sourceId';
    expect(JSON.parse(body)).toEqual({
      versions: [
        { version: 1, time: '2026-03-01T12:00:00.000Z', changed: fields.split(',') },
        { version: 2, time: '2026-03-01T12:00:01.000Z', changed: ['title', 'landingUrl', 'languageId'] },
        { version: 3, time: '2026-03-01T12:00:01.000Z', changed: [] },
      ],
    });
    expect((await get(`/${id}/versions`, 'nord')).json()).toMatchObject({
      versions: [{ time: NOW }, {}, {}],
    });
    expect((await get(`/${id}/versions.xml`, 'nord')).body).toContain(
      `<version version="2" time="${NOW + 1000}"><changed>title</changed><changed>landingUrl</changed><changed>languageId</changed></version>`,
    );
    for (const as of ['casa', 'preisblick'] as const)
      expect((await get(`/${id}/versions`, as)).statusCode).toBe(404);
    expect((await get('/999999/versions', 'nord')).statusCode).toBe(404);
    expect((await get('/x/versions', 'nord')).statusCode).toBe(404);
  });

  it('CSV has the columns of the table in its order (decisions V17, X46)', async () => {
    const id = await create({ title: 'A "b", c' });
    const { body, headers } = await get(`;format=csv;id=${id}`);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    const [heading, line, ...others] = body.split('\r\n');
    expect(heading).toBe(
      '"id","programId","programName","code","updateDate","publishStartDate","publishEndDate","startDate","endDate","title","shortDescription","description","voucherTypeId","defaultTrackUri","siteSpecific","landingUrl","discountAmount","isPercentage","publisherInformation","languageId","exclusive","currencyId","logoPath"',
    );
    const [json] = await list(`;id=${id}`);
    const cells = Object.values(json!).map((value) => `"${String(value).replaceAll('"', '""')}"`);
    expect(line).toBe(cells.join(','));
    expect(others).toEqual(['']);
    expect((await get(`.csv;id=${id}`)).body).toBe(body);
    expect((await get(`;format=csv;id=${id}`, 'nord')).body.split('\r\n')[0]).toBe(heading);
  });

  it('a calendar has an event for each voucher, from its start to its end (decisions V17, X46)', async () => {
    const id = await create({
      title: 'Lamps; chairs, tables — and whatever else there is in Öresund',
      landingUrl: 'https://nord.example/',
    });
    const { body, headers } = await get(`.ics;id=${id}`);
    expect(headers['content-type']).toBe('text/calendar; charset=utf-8');
    const lines = body.split('\r\n');
    expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThanOrEqual(75);
    expect(body.replaceAll('\r\n ', '').split('\r\n')).toEqual([
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'PRODID:-//affilog//vouchers//EN',
      'BEGIN:VEVENT',
      `UID:voucher-${id}@affilog`,
      'DTSTAMP:20260301T120000Z',
      'DTSTART:20260301T120000Z',
      'DTEND:20260331T120000Z',
      'SUMMARY:Lamps\\; chairs\\, tables — and whatever else there is in Öresund',
      'DESCRIPTION:Nothing to pay for delivery',
      'URL:https://clk.affilog.example/click?a(1101)p(101)ttid(13)url(https%3A%2F%2Fnord.example%2F)',
      'END:VEVENT',
      'END:VCALENDAR',
      '',
    ]);
  });
});
