import { type Response } from '../support/app';
import { XML_UTF8 } from './posted';
import { NOW, refusalOf, voucher, VOUCHER_TOKENS, voucherWorld } from './voucher-network';

const world = voucherWorld();

describe('voucher dry run', () => {
  const token = VOUCHER_TOKENS.nord;

  const tryPost = (posted: object, path = ''): Promise<Response> =>
    world.app.post(`/1.0/vouchers${path};dryRun=true`, { token, body: JSON.stringify(posted) });

  describe('dryRun=true of vouchers (decisions A15)', () => {
    it('answers the id of a voucher that would be edited, and 0 for a new one', async () => {
      const id = await world.create({ sourceId: 'lamps' });
      const other = await world.create({ programId: 102 });
      const before = await world.app.engines.log.head();
      const answers = [
        await tryPost(voucher({ sourceId: 'lamps', title: 'New' })),
        await tryPost(voucher({ sourceId: 'sofas' })),
        await tryPost(voucher()),
        await tryPost(voucher({ programId: 102, sourceId: String(other) })),
        await tryPost(voucher({ programId: 101, sourceId: String(other) })),
      ];
      expect(answers.map((answer) => answer.json<unknown>())).toEqual([[id], [0], [0], [other], [0]]);
      expect(answers.map(({ headers }) => headers['x-dry-run'])).toEqual(Array(5).fill('true'));
      const xml = await world.app.post('/1.0/vouchers.xml;dryRun=TRUE', {
        token,
        body: JSON.stringify(voucher()),
      });
      expect(xml.body).toMatch(/<long>0<\/long>$/);
      expect(await world.app.engines.log.head()).toBe(before);
      expect((await world.list('', 'nord')).map(({ title }) => title)).not.toContain('New');
    });

    it('does not find a voucher that was removed', async () => {
      await world.remove(await world.create({ sourceId: 'gone' }));
      expect((await tryPost(voucher({ sourceId: 'gone' }))).json()).toEqual([0]);
    });

    it('refuses as a post does, and marks the refusal', async () => {
      const answer = await tryPost(voucher({ title: undefined }));
      expect([refusalOf(answer).codes, answer.headers['x-dry-run']]).toEqual(['400 101', 'true']);
    });

    it('answers for each voucher of a bulk post', async () => {
      const id = await world.create({ sourceId: 'lamps' });
      const before = await world.app.engines.log.head();
      const answer = await tryPost(
        [voucher({ sourceId: 'lamps' }), voucher(), voucher({ title: '' }), voucher({ sourceId: 'lamps' })],
        '/bulk',
      );
      const refused = { errors: [{ code: '101', message: 'title must be set' }] };
      expect(answer.json()).toEqual([{ id }, { id: 0 }, refused, { id }]);
      expect(answer.headers.link).toBe('<https://api.example/docs/errors/101>; rel="help"');
      expect(answer.headers['x-dry-run']).toBe('true');
      expect(await world.app.engines.log.head()).toBe(before);
    });
  });

  describe('posts of vouchers', () => {
    it('with an unknown key are refused, and store nothing (decisions A14)', async () => {
      const before = await world.app.engines.log.head();
      const target = '/1.0/vouchers;foo=1';
      const answer = await world.app.post(target, { token, body: JSON.stringify(voucher()) });
      expect(refusalOf(answer)).toEqual({
        codes: '400 101',
        message: 'foo=1: unknown key; expected one of: dryRun, pretty',
      });
      expect(refusalOf(await world.app.delete('/1.0/vouchers/1;dryRun=true', { token })).codes).toBe(
        '400 101',
      );
      expect(await world.app.engines.log.head()).toBe(before);
    });

    it('name unknown fields in X-Ignored-Fields, stored or refused, in JSON and XML (decisions A15)', async () => {
      const odd = { colour: 'red', titel: 'x', z: null };
      const one = await world.post(voucher(odd));
      expect([one.statusCode, one.headers['x-ignored-fields']]).toEqual([200, 'colour, titel, z']);
      const refused = await world.post(voucher({ ...odd, title: undefined }));
      expect([refused.statusCode, refused.headers['x-ignored-fields']]).toEqual([400, 'colour, titel, z']);
      const bulk = await world.app.post('/1.0/vouchers/bulk', {
        token,
        body: JSON.stringify([voucher({ a: 1 }), 7, voucher({ b: 1, a: 2, title: '' })]),
      });
      expect(bulk.headers['x-ignored-fields']).toBe('a, b');
      const fields = Object.entries(voucher()).map(([name, value]) => `<${name}>${String(value)}</${name}>`);
      const body = `<voucher id="7">${fields.join('')}<colour>red</colour><siteId/></voucher>`;
      const xml = await world.app.post('/1.0/vouchers', { token, headers: XML_UTF8, body });
      expect([xml.statusCode, xml.headers['x-ignored-fields']]).toEqual([200, '%40id, colour']);
      expect((await world.post(voucher())).headers).not.toHaveProperty('x-ignored-fields');
    });
  });
});

describe('Beyond the document (decisions V17)', () => {
  const { create, get, list, remove, passTo } = world;

  it('a bulk post answers each voucher in order, and stores the valid ones (decisions V17)', async () => {
    const body = JSON.stringify([
      voucher({ sourceId: 'a', title: 'First' }),
      voucher({ title: '' }),
      voucher({ sourceId: 'a', title: 'Second' }),
      'nothing',
      voucher({ programId: 201 }),
      voucher(),
    ]);
    const answer = await world.app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS.nord, body });
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
    const empty = await world.app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS.nord, body: '[]' });
    expect([empty.statusCode, empty.body]).toEqual([200, '[]']);
  });

  it('of several vouchers with one sourceId in a bulk post, the last valid one counts', async () => {
    const same = { sourceId: 'a' };
    const vouchers = [
      voucher({ ...same, title: 'First' }),
      voucher({ ...same, title: 'Second' }),
      voucher({ ...same, title: '' }),
    ];
    const body = JSON.stringify(vouchers);
    const answer = await world.app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS.nord, body });
    const [listed, ...others] = await list('', 'nord');
    expect([listed!.title, others]).toEqual(['Second', []]);
    expect(answer.json()).toEqual([
      { id: listed!.id },
      { id: listed!.id },
      { errors: [{ code: '101', message: 'title must be set' }] },
    ]);
  });

  it('a sourceId in a bulk post never edits a voucher of the same post (decisions V15, V17)', async () => {
    const [before] = [await create()];
    const numbers = Array.from({ length: 40 }, (_, at) => before + at + 1);
    const vouchers = numbers.flatMap((number) => [
      voucher({ title: 'Without' }),
      voucher({ title: `With ${number}`, sourceId: number }),
    ]);
    const body = JSON.stringify(vouchers);
    const answer = await world.app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS.nord, body });
    const ids = answer.json<{ id: number }[]>().map(({ id }) => id);
    expect(new Set(ids).size).toBe(80);
    const listed = new Map((await list('', 'nord')).map(({ id, title }) => [id, title]));
    expect(ids.map((id) => listed.get(id))).toEqual(vouchers.map(({ title }) => title));
  });

  it('versions list what each event changed, even after a deletion, for the owner only (decisions V17, V18, X42)', async () => {
    const id = await create({ sourceId: 's', languageId: 'de' });
    passTo(NOW + 1000);
    await create({ sourceId: 's', title: 'New', landingUrl: 'https://nord.example/' });
    await remove(id);
    const { body } = await get(`/${id}/versions;dateOutputFormat=iso8601`, 'nord');
    const fields =
      'title,voucherTypeId,shortDescription,description,startDate,endDate,languageId,programId,sourceId';
    const first = voucher({ sourceId: 's', languageId: 'de' });
    const dates = Object.fromEntries(
      ['startDate', 'endDate'].map((name) => [name, new Date(Number(first[name])).toISOString()]),
    );
    expect(JSON.parse(body)).toEqual({
      versions: [
        {
          ...{ version: 1, time: '2026-03-01T12:00:00.000Z', changed: fields.split(',') },
          after: { ...first, ...dates },
        },
        {
          ...{ version: 2, time: '2026-03-01T12:00:01.000Z', changed: ['title', 'landingUrl', 'languageId'] },
          before: { title: first['title'], languageId: 'de' },
          after: { title: 'New', landingUrl: 'https://nord.example/' },
        },
        { version: 3, time: '2026-03-01T12:00:01.000Z', deleted: true, changed: [] },
      ],
    });
    expect((await get(`/${id}/versions`, 'nord')).json()).toMatchObject({
      versions: [{ time: NOW, after: { startDate: first['startDate'] } }, {}, {}],
    });
    expect((await get(`/${id}/versions.xml`, 'nord')).body).toContain(
      `<version version="2" time="${NOW + 1000}"><changed>title</changed><changed>landingUrl</changed>` +
        `<changed>languageId</changed><before><title>${String(first['title'])}</title><languageId>de</languageId></before>` +
        '<after><title>New</title><landingUrl>https://nord.example/</landingUrl></after></version>',
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

  it('a calendar without vouchers has the one component that RFC 5545 requires, a time zone (decisions X46)', async () => {
    expect((await get('.ics;id=999999')).body.split('\r\n')).toEqual([
      ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//affilog//vouchers//EN'],
      ...['BEGIN:VTIMEZONE', 'TZID:Etc/UTC', 'BEGIN:STANDARD', 'DTSTART:19700101T000000'],
      ...['TZOFFSETFROM:+0000', 'TZOFFSETTO:+0000', 'END:STANDARD', 'END:VTIMEZONE'],
      ...['END:VCALENDAR', ''],
    ]);
  });
});
