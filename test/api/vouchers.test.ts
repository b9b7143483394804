import { TestApp } from '../support/app';
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
} from './voucher-network';

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
