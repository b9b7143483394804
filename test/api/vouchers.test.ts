import { type Response, TestApp } from '../support/app';
import { LISTED_FIELDS, VOUCHER_FIELDS } from './document-tables';
import { JSON_UTF8, XML_UTF8 } from './posted';
import {
  DAY,
  idsOf,
  NOW,
  refusalOf,
  voucher,
  VOUCHER_NETWORK,
  VOUCHER_TOKENS,
  voucherClientOf,
  voucherWorld,
} from './voucher-network';

const world = voucherWorld();

describe('vouchers', () => {
  let app: TestApp;
  let now = NOW;
  const { post, create, get, list, remove } = voucherClientOf(() => app);
  const token = VOUCHER_TOKENS.nord;

  beforeAll(async () => {
    app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(now) });
  });
  afterAll(() => app.close());
  beforeEach(() => (now += 1000));

  const FULL = {
    title: 'Ten per cent off "Öresund" <lamps> & more',
    programId: 101,
    voucherTypeId: 1,
    code: 'SPRING-10',
    shortDescription: 'Ten off',
    description: 'Lamps only.\nNot with others.',
    startDate: NOW + DAY,
    endDate: NOW + 60 * DAY,
    sourceId: 'spring 10',
    siteIds: [1101],
    landingUrl: 'https://nord.example/spring?a=1&b=(2)',
    publishStartDate: NOW - DAY,
    publishEndDate: NOW + 50 * DAY,
    publisherInformation: 'Ask us for banners',
    discountAmount: 10.5,
    isPercentage: true,
    languageId: 'de',
  };

  it('every field posted in JSON is answered, with fields of the program (Document 2, Voucher returned by the list operation; decisions V1, V7)', async () => {
    const id = await create(FULL);
    const expected = {
      id,
      programId: 101,
      programName: 'Nordlicht DE',
      code: 'SPRING-10',
      updateDate: now,
      publishStartDate: NOW - DAY,
      publishEndDate: NOW + 50 * DAY,
      startDate: NOW + DAY,
      endDate: NOW + 60 * DAY,
      title: 'Ten per cent off "Öresund" <lamps> & more',
      shortDescription: 'Ten off',
      description: 'Lamps only.\nNot with others.',
      voucherTypeId: 1,
      defaultTrackUri:
        'https://clk.affilog.example/click?a(1101)p(101)ttid(13)url(https%3A%2F%2Fnord.example%2Fspring%3Fa%3D1%26b%3D%282%29)',
      siteSpecific: true,
      landingUrl: 'https://nord.example/spring?a=1&b=(2)',
      discountAmount: 10.5,
      isPercentage: true,
      publisherInformation: 'Ask us for banners',
      languageId: 'de',
      exclusive: true,
      currencyId: 'EUR',
      logoPath: 'https://nord.example/de.png',
    };
    const [found] = await list(`;id=${id}`);
    expect(found).toEqual(expected);
    expect(Object.keys(found!)).toEqual(LISTED_FIELDS);
    expect(Object.keys(FULL).toSorted()).toEqual(VOUCHER_FIELDS.toSorted());
    const [own] = await list(`;id=${id}`, 'nord');
    expect(own).toEqual({
      ...expected,
      sourceId: 'spring 10',
      defaultTrackUri: expected.defaultTrackUri.replace('a(1101)', ''),
    });
  });

  it('fields that were not posted are present in answers (decisions V9, V13)', async () => {
    const id = await create();
    expect((await list(`;id=${id}`))[0]).toMatchObject({
      code: '',
      publishStartDate: now,
      publishEndDate: NOW + 30 * DAY,
      defaultTrackUri: 'https://clk.affilog.example/click?a(1101)p(101)ttid(13)',
      siteSpecific: false,
      landingUrl: '',
      discountAmount: 0,
      isPercentage: false,
      publisherInformation: '',
      languageId: '',
      exclusive: false,
    });
    expect((await list(`;id=${id}`, 'nord'))[0]).toMatchObject({ sourceId: String(id) });
  });

  it('the same voucher posted as XML is the same voucher (Document 2, Voucher posted by an advertiser)', async () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>
    <voucher xmlns="urn:whatever">
      <title>Ten per cent off "Öresund" &lt;lamps> &amp; more</title> <programId> 101 </programId>
      <voucherTypeId>1</voucherTypeId> <code>SPRING-10</code> <shortDescription>Ten off</shortDescription>
      <description>Lamps only.&#10;Not with others.</description>
      <startDate>${FULL.startDate}</startDate> <endDate>${FULL.endDate}</endDate>
      <sourceId>spring xml</sourceId> <siteId>1101</siteId>
      <landingUrl>https://nord.example/spring?a=1&amp;b=(2)</landingUrl>
      <publishStartDate>${FULL.publishStartDate}</publishStartDate>
      <publishEndDate>${FULL.publishEndDate}</publishEndDate>
      <publisherInformation>Ask us for banners</publisherInformation>
      <discountAmount>10.5</discountAmount> <isPercentage>true</isPercentage> <languageId>de</languageId>
    </voucher>`;
    const answer = await app.post('/1.0/vouchers', { token, headers: XML_UTF8, body: xml });
    expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
    const id = Number(/^<\?xml version="1.0" encoding="UTF-8"\?><long>(\d+)<\/long>$/.exec(answer.body)?.[1]);
    const other = await create({ ...FULL, sourceId: 'spring json' });
    const [one, two] = [await list(`;id=${id}`), await list(`;id=${other}`)];
    expect({ ...one[0], id: 0 }).toEqual({ ...two[0], id: 0 });
  });

  it('texts are preserved exactly, in JSON and in XML (decisions A11)', async () => {
    const text = ' a\u00a0\u00a0b &amp; &lt;i>  ü/u\u0308 \u2028\t\r\n\n😀 ';
    const texts = {
      title: text,
      shortDescription: text,
      description: text,
      publisherInformation: text,
      code: text,
    };
    const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\r', '&#13;');
    const elements = Object.entries(voucher(texts)).map(([name, value]) => {
      const written = name in texts ? escaped : String(value);
      return `<${name}>${written}</${name}>`;
    });
    const body = `<voucher>${elements.join('')}</voucher>`;
    const { body: key } = await app.post('/1.0/vouchers', { token, headers: XML_UTF8, body });
    for (const id of [await create(texts), Number(/<long>(\d+)/.exec(key)?.[1])])
      expect(await list(`;id=${id}`)).toMatchObject([texts]);
  });

  it('a list in XML has one child per field, in voucherList (Document 2, Voucher returned by the list operation)', async () => {
    const id = await create({ title: 'A <b>', languageId: 'sv' });
    const { body, headers } = await get(`.xml;id=${id};dateOutputFormat=iso8601`);
    expect(headers['content-type']).toBe('application/xml; charset=utf-8');
    const [json] = await list(`;id=${id};dateOutputFormat=iso8601`);
    const children = Object.entries(json!).map(([name, value]) => {
      const text = String(value).replace('<', '&lt;').replace('>', '&gt;');
      return text === '' ? `<${name}/>` : `<${name}>${text}</${name}>`;
    });
    expect(body).toBe(
      `<?xml version="1.0" encoding="UTF-8"?><voucherList><voucher>${children.join('')}</voucher></voucherList>`,
    );
    expect((await get('.xml;id=999999')).body).toBe('<?xml version="1.0" encoding="UTF-8"?><voucherList/>');
  });

  it('jsonp is supported (Document 2, Conventions; decisions A5)', async () => {
    const answer = await app.get(`/1.0/vouchers;id=999999?jsonp=show`, { token });
    expect(answer.body).toBe('/**/show([], undefined, undefined);');
    const refused = await app.get('/1.0/vouchers?jsonp=show');
    expect(refused.body).toBe('/**/show(undefined, 400, "Missing token");');
  });

  it('dates are ISO 8601 with dateOutputFormat=iso8601 (Document 2, List keys; decisions X20)', async () => {
    const id = await create();
    expect((await list(`;id=${id};dateOutputFormat=ISO8601`))[0]).toMatchObject({
      startDate: '2026-03-01T12:00:00.000Z',
      updateDate: new Date(now).toISOString(),
    });
  });

  /** The network, program 101 being active, paused or closed. */
  function networkWhere(status: string): object {
    const programs: readonly { readonly id?: number }[] = VOUCHER_NETWORK.programs;
    return {
      ...VOUCHER_NETWORK,
      programs: programs.map((one) => (one.id === 101 ? { ...one, status } : one)),
    };
  }

  describe('An edit', () => {
    it('by sourceId replaces all fields and answers the same key (Document 2, Endpoints; decisions V2, V18)', async () => {
      const id = await create({ ...FULL, sourceId: 'edited' });
      now += 5000;
      expect(await create({ sourceId: 'edited', title: 'New' })).toBe(id);
      const [edited] = await list(`;id=${id}`, 'nord');
      expect(edited).toMatchObject({
        title: 'New',
        code: '',
        siteSpecific: false,
        languageId: '',
        updateDate: now,
      });
    });

    it('by id edits a voucher that was posted without a sourceId (Document 2, Endpoints; decisions V15)', async () => {
      const id = await create();
      expect(await create({ sourceId: id, title: 'New' })).toBe(id);
      expect((await list(`;id=${id}`, 'nord'))[0]).toMatchObject({ title: 'New', sourceId: String(id) });
    });

    it('by the id of a voucher with a sourceId of its own is a new voucher (decisions V2, V15)', async () => {
      const id = await create({ sourceId: 'own' });
      const other = await create({ sourceId: id, title: 'Other' });
      expect(other).not.toBe(id);
      expect(await list(`;id=${id},${other}`, 'nord')).toMatchObject([
        { id: other, title: 'Other', sourceId: String(id) },
        { id, title: 'Free delivery', sourceId: 'own' },
      ]);
    });

    it('that changes nothing writes nothing', async () => {
      const id = await create({ sourceId: 'same' });
      const head = await app.engines.log.head();
      now += 5000;
      expect(await create({ sourceId: 'same' })).toBe(id);
      expect(await app.engines.log.head()).toBe(head);
      expect((await list(`;id=${id}`))[0]).toMatchObject({ updateDate: now - 5000 });
    });

    it.each(['paused', 'closed'])(
      'while the program is %s is refused, and changes nothing (decisions V18)',
      async (status) => {
        const id = await create({ sourceId: `while ${status}` });
        await app.import(networkWhere(status));
        const head = await app.engines.log.head();
        for (const sourceId of [`while ${status}`, id])
          expect(refusalOf(await post(voucher({ sourceId, title: 'New' })))).toEqual({
            codes: '400 102',
            message: `program 101 is ${status}: vouchers are taken while it is active`,
          });
        expect(await app.engines.log.head()).toBe(head);
        expect(await list(`;id=${id}`, 'nord')).toMatchObject([{ title: 'Free delivery' }]);
        expect(await list(`;id=${id}`)).toEqual([]);
        await app.import(networkWhere('active'));
        expect(await list(`;id=${id}`)).toHaveLength(1);
      },
    );

    it('by anyone else creates another voucher, or none', async () => {
      const id = await create({ sourceId: 'mine' });
      const foreign = await create({ sourceId: 'mine', programId: 201 }, 'casa');
      expect(foreign).not.toBe(id);
      expect(refusalOf(await post(voucher({ sourceId: 'mine' }), 'casa')).codes).toBe('400 102');
    });
  });

  describe('A deletion', () => {
    it('is 204 without a body, and the voucher is gone (Document 2, Endpoints)', async () => {
      const id = await create({ sourceId: 'gone' });
      const answer = await remove(id);
      expect([answer.statusCode, answer.body]).toEqual([204, '']);
      expect(answer.headers['x-log-position']).toMatch(/^\d{19}$/);
      expect(await list(`;id=${id}`, 'nord')).toEqual([]);
      expect(await create({ sourceId: 'gone' })).not.toBe(id);
    });

    it('that fails is 400 (Document 2, Errors; decisions X43)', async () => {
      const id = await create();
      await remove(id);
      expect(refusalOf(await remove(id)).codes).toBe('400 101');
      expect(refusalOf(await remove(999_999)).codes).toBe('400 101');
      expect(refusalOf(await remove('spring')).codes).toBe('400 101');
      const other = await create();
      expect(refusalOf(await remove(other, 'casa')).codes).toBe('400 101');
      expect(refusalOf(await remove(other, 'preisblick')).codes).toBe('400 102');
      expect(idsOf(await list(`;id=${other}`))).toEqual([other]);
    });
  });

  it('100 racing posts of one new sourceId create one voucher (decisions V2)', async () => {
    const ids = await Promise.all(
      Array.from({ length: 100 }, (_, at) => create({ sourceId: 'race', title: `${at}` })),
    );
    expect(new Set(ids).size).toBe(1);
  });

  it('a posted voucher is listed immediately, and a write has its position (decisions A7)', async () => {
    const answer = await app.post('/1.0/vouchers', {
      token,
      headers: JSON_UTF8,
      body: JSON.stringify(voucher()),
    });
    expect(answer.headers['x-log-position']).toMatch(/^\d{19}$/);
    const id = answer.json<[number]>()[0];
    const position = String(answer.headers['x-log-position']);
    const read = await app.get(`/1.0/vouchers;id=${id}`, { token, headers: { 'x-min-position': position } });
    expect(idsOf(read.json())).toEqual([id]);
  });
});

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
