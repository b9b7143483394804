import { CLAIM_TOKENS, NETWORK, ownServer, type Server } from '../support/server';

const [VOUCHERS, CONVERSIONS, OPS] = ['d', 'e', 'f'].map((digit) => digit.repeat(40)) as [
  string,
  string,
  string,
];

const ORGANISATIONS = [...NETWORK.organisations, { id: 99, kind: 'operator', name: 'Operations' }];
const WITH_TOKENS = {
  ...NETWORK,
  organisations: ORGANISATIONS,
  tokens: [
    ...NETWORK.tokens,
    { token: VOUCHERS, organisationId: 1, system: 'VOUCHERS' },
    { token: CONVERSIONS, organisationId: 1, system: 'CONVERSIONS' },
    { token: OPS, organisationId: 99, system: 'OPS' },
  ],
};

const MB = 1024 * 1024;

/** The longest (ms) that `/health/live` may take meanwhile. */
const LONGEST = 1000;

/** Asks again and again whether the server lives while work is done; `live`: the longest that an answer took (ms). */
async function whileLiveIsChecked<Result>(
  server: Server,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly live: number }> {
  let isOver = false;
  let live = 0;
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const began = performance.now();
      const { status } = await fetch(`${server.url}/health/live`);
      if (status !== 200) throw new Error(`/health/live: ${status}`);
      live = Math.max(live, Math.round(performance.now() - began));
    }
  };
  const [result] = await Promise.all([work().finally(() => (isOver = true)), watch()]);
  return { result, live };
}

/** As many pieces as fit between a head and a foot. */
function filled(bytes: number, head: string, piece: (n: number) => string, foot: string): string {
  const pieces: string[] = [];
  for (let size = head.length + foot.length, n = 0; ; n += 1) {
    const next = piece(n);
    size += next.length;
    if (size > bytes) return head + pieces.join('') + foot;
    pieces.push(next);
  }
}

/** The routes that take lists, each with its limit in bytes. */
const ROUTES = [
  ['/1.0/conversions/transactions/bulk', CONVERSIONS, 32 * MB, '[', ']', 'transaction'],
  ['/1.0/conversions/transactions/transitions/bulk', CONVERSIONS, 32 * MB, '[', ']', 'transition'],
  ['/1.0/vouchers/bulk', VOUCHERS, 8 * MB, '[', ']', undefined],
  ['/1.0/claims', CLAIM_TOKENS.publisher, 900 * 1024, '{"claims":[', ']}', 'claim'],
  ['/1.0/claimUpdates', CLAIM_TOKENS.advertiser, 900 * 1024, '{"claimUpdates":[', ']}', 'claimUpdate'],
  ['/ops/1.0/mappings', OPS, 16 * MB, '{"mappings":[', ']}', undefined],
] as const;

const members = (from: number, count: number): string =>
  Array.from({ length: count }, (_, n) => `"m${from + n}":1`).join(',');

/** Lists in JSON that take long to read, to check or to answer, if anything does. */
const LISTS: readonly (readonly [what: string, piece: (n: number) => string, last: string])[] = [
  ['empty objects', () => '{},', '{}'],
  ['numbers', () => '1,', '1'],
  ['objects with other names', (n) => `{${members(n * 40, 40)}},`, '{}'],
  ['large objects', (n) => `{${members(n * 10_000, 10_000)}},`, '{}'],
  ['fields given twice', () => `{${'"a":1,'.repeat(40)}"a":1},`, '{}'],
  ['deep lists', () => `{"orderNumber":${'['.repeat(25)}${']'.repeat(25)}},`, '{}'],
  [
    'faults',
    () => '{"orderNumber":{"a":1},"programId":"x","eventId":[],"siteId":{},"orderValue":-1,"epi":7},',
    '{}',
  ],
];

describe('a list posted to any route (decisions A20)', () => {
  const own = ownServer({ network: WITH_TOKENS });

  const attack = async (path: string, token: string, type: string, body: string) => {
    const { result, live } = await whileLiveIsChecked(own.server, async () => {
      const began = performance.now();
      const answer = await fetch(`${own.server.url}${path}?token=${token}`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      });
      await answer.arrayBuffer();
      return { status: answer.status, ms: Math.round(performance.now() - began) };
    });
    expect(live).toBeLessThan(LONGEST);
    expect(result.status).toBeLessThan(500);
  };

  describe.each(ROUTES)('%s', (path, token, limit, head, foot, element) => {
    it.each(LISTS)('of %s in JSON holds up nobody', async (_, piece, last) => {
      await attack(path, token, 'application/json', filled(limit, head, piece, last + foot));
    });

    it('of the most items with faults in all fields holds up nobody', async () => {
      const faulty =
        '{"orderNumber":{"a":1},"programId":"x","eventId":[],"siteId":{},"orderValue":-1,"epi":7,"mediaCost":"x"}';
      const most = path.includes('conversions') || path.includes('mappings') ? 10_000 : 1000;
      const body = `${head}${Array.from({ length: most }, () => faulty).join(',')}${foot}`;
      await attack(path, token, 'application/json', body);
    });

    it('of one string, or of white space, holds up nobody', async () => {
      for (const text of ['"', ' ', '[', '{"a":', '\\'])
        await attack(
          path,
          token,
          'application/json',
          filled(limit, head, () => text.repeat(1000), foot),
        );
    });

    it('in XML holds up nobody', async () => {
      if (element === undefined) return;
      const root = `${element}s`;
      for (const piece of [
        `<${element}/>`,
        `<${element}><orderNumber/><orderNumber/></${element}>`,
        '<a/>',
        `<${element}>${'<b c="d"/>'.repeat(1000)}</${element}>`,
      ])
        await attack(
          path,
          token,
          'application/xml',
          filled(limit, `<${root}>`, () => piece, `</${root}>`),
        );
      const within = filled(limit, `<${root}><${element}>`, (n) => `<x${n}/>`, `</${element}></${root}>`);
      await attack(path, token, 'application/xml', within);
    });
  });

  it.each(['\n', ',\n', ',', '1,a,2\n', '"', '""'])(
    'of mappings in CSV of %j holds up nobody',
    async (piece) => {
      await attack(
        '/ops/1.0/mappings',
        OPS,
        'text/csv',
        filled(16 * MB, 'feedId,name,categoryId\n', () => piece.repeat(100), ''),
      );
    },
  );
});
