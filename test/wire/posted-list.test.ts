import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { claimApi } from '../../src/services/claims/api';
import { mappingOperations } from '../../src/operations/rest/mappings.controller';
import { transactionApi } from '../../src/services/transactions/api';
import { voucherApi } from '../../src/services/vouchers/api';
import { isPosted, notesOf, type Posted } from '../../src/wire/api/posted';
import { type ListBody, postedItems } from '../../src/wire/api/posted-items';
import { listOf, record } from '../../src/wire/record/record';
import { integer, text } from '../../src/wire/record/kinds';

const item = record({
  id: { kind: integer(), required: true, description: 'Id' },
  name: { kind: text(), description: 'Name' },
});
const LIST = { kind: listOf(item, { each: 'item', most: 3 }), root: 'items', maxItem: 50 } as const;

/** Reads a body in chunks of a size, and counts those that were read. */
async function read(body: string, format: 'json' | 'xml', options: Partial<ListBody> = {}, size = 8) {
  let chunks = 0;
  const bytes = Buffer.from(body);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  const counted = Readable.from(pieces).map((piece: Buffer) => {
    chunks += 1;
    return piece;
  });
  const found = await postedItems(counted, format, { ...LIST, ...options }).catch((error: unknown) =>
    String(error),
  );
  return { found, chunks, all: pieces.length };
}

describe('a posted list (decisions A20)', () => {
  it.each([
    ['json' as const, `[${'{"id":1},'.repeat(5000)}1]`],
    ['xml' as const, `<items>${'<item><id>1</id></item>'.repeat(5000)}</items>`],
  ])('in %s is read up to the first item too many', async (format, body) => {
    const { found, chunks, all } = await read(body, format);
    expect(found).toMatch(/more than 3 items: expected at most 3$/);
    expect(chunks).toBeLessThan(all / 10);
  });

  it.each([
    ['json' as const, (name: string) => `[{"id":1},{"name":"${name}"},{"id":2}]`],
    [
      'xml' as const,
      (name: string) =>
        `<items><item><id>1</id></item><item><name>${name}</name></item><item><id>2</id></item></items>`,
    ],
  ])(
    'in %s has an item that is too large: that is noted, and the others are read',
    async (format, bodyWith) => {
      const { found } = await read(bodyWith('x'.repeat(100)), format);
      if (typeof found === 'string') throw new Error(found);
      const [first, large, last] = found.items as Posted[];
      expect([Number(first?.id), notesOf(large!)?.maxBytes, large, Number(last?.id)]).toEqual([1, 50, {}, 2]);
      const whole = await read(bodyWith('x'), format);
      expect(whole.found).toMatchObject({ items: [{}, { name: 'x' }, {}] });
    },
  );

  it('in JSON is the same however it is cut into chunks, also a malformed one', async () => {
    const element = fc.oneof(
      fc.constantFrom(
        '{}',
        '{"id":1}',
        '{"id":1,"id":2}',
        '{"name":"\u00e9","x":[{"y":"}"}]}',
        '1',
        '"a"',
        '[]',
        'null',
      ),
      fc.constantFrom(
        '{"id":}',
        '{"id":1]',
        '{1}',
        '"\\x"',
        'nul',
        '{"name":"\u0001"}',
        '',
        `"${'x'.repeat(60)}"`,
      ),
    );
    const list = fc.array(element, { maxLength: 5 }).map((elements) => `[${elements.join(' , ')}]`);
    await fc.assert(
      fc.asyncProperty(list, fc.boolean(), fc.integer({ min: 1, max: 40 }), async (items, isWhole, size) => {
        const body = isWhole ? `{"items":${items}}` : `{"items":${items.slice(0, -3)}`;
        const results = await Promise.all(
          [1, size, body.length].map((each) => read(body, 'json', { key: 'items' }, each)),
        );
        const seen = results.map(({ found }) =>
          typeof found === 'string'
            ? found
            : [found, found.items.map((one) => (isPosted(one) ? notesOf(one) : undefined))],
        );
        expect(seen[1]).toEqual(seen[0]);
        expect(seen[2]).toEqual(seen[0]);
      }),
      { numRuns: 500 },
    );
  });

  it('drops unknown fields if it is to, and knows the first of their names', async () => {
    const names = Array.from({ length: 200 }, (_, n) => `"x${n}":1`);
    const body = `[{"id":1,${names.join(',')},"id":2}]`;
    const { found } = await read(body, 'json', { maxItem: 5000, dropsUnknown: true });
    if (typeof found === 'string') throw new Error(found);
    expect(found.items).toEqual([{ id: 2 }]);
    expect([...(notesOf(found.items[0] as Posted)?.repeated ?? [])]).toEqual(['id']);
    expect(found.unread.slice(0, 3)).toEqual(['x0', 'x1', 'x10']);
    expect(found.unread).toHaveLength(20);
  });

  it.each([
    [transactionApi.reportTransactions, /10,000 of them, 32 MiB in all and 256 KiB each/],
    [transactionApi.moveTransactions, /10,000 of them, 32 MiB in all and 256 KiB each/],
    [transactionApi.reportTransaction, /256 KiB/],
    [voucherApi.postVouchers, /1,000 of them, 8 MiB in all and 1 MiB each/],
    [claimApi.createClaims, /1,000 claims and 900 KiB/],
    [claimApi.updateClaims, /1,000 updates and 900 KiB/],
    [
      mappingOperations.changeMappings,
      /16 MiB, 10,000 lines of JSON, each of at most 64 KiB, or 200,000 of CSV/,
    ],
  ])('has its limits in the OpenAPI description: %#', ({ description }, limits) => {
    expect(description).toMatch(limits);
  });
});

it.each(['\r', '\n&lt;abcdefghijkl', 'abcdefghijkl<!---->', '<![CDATA[ab]]>'])(
  'a posted text of many pieces, %j, takes as much memory as its characters (decisions X100)',
  async (piece) => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const bytes = Buffer.from(
      `<items><item><name>${piece.repeat(2_000_000 / piece.length)}</name></item></items>`,
    );
    const before = used();
    const { items } = await postedItems(Readable.from([bytes]), 'xml', { ...LIST, maxItem: Infinity });
    expect(used() - before).toBeLessThan(bytes.length * 2);
    expect(items).toHaveLength(1);
  },
);
