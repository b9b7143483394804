import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { type DomainEvent, toNewEvent } from '../../src/kernel/decider';
import { EVERYTHING, type Found } from '../../src/kernel/query';
import { type Write } from '../../src/kernel/read-store';
import { Directory } from '../../src/network/directory';
import { rebuildProjections, verifyProjections } from '../../src/operations/rebuild';
import { type Projection } from '../../src/projector/projection';
import { appendAtEnd } from '../contracts/event-log/events';
import { type World } from '../projector/world';

/** A recorded event of each read model, and what another document has in place of a text of it. */
const EVENTS: readonly (readonly [file: string, text: string, other: (n: number) => string])[] = [
  ['ProductListed', 'lamp-7', (n) => `lamp-7${n}`],
  ['ProductDelisted', 'lamp-7', (n) => `lamp-8${n}`],
  ['FeedImported', '3f3a4f0f1c11', (n) => `3f3a4f0f1c1${n}`],
  ['ProductListed', 'feed-301', (n) => `feed-31${n}`],
  ['VoucherPublished', 'voucher-17', (n) => `voucher-17${n}`],
  ['TransactionTracked', '84fd93a0ca', (n) => `84fd93a0c${n}`],
  ['SubscriptionCreated', 'subscription-7f3c', (n) => `subscription-7f3${n}`],
  ['ClaimFiled', 'claim-17', (n) => `claim-17${n}`],
  ['ClaimBatchAccepted', 'claim-batch-12', (n) => `claim-batch-12${n}`],
];
const DELIVERIES: typeof EVENTS = [
  ['MessageDue-backfill', 'msg_0123', (n) => `msg_${n}123`],
  ['MessageAttempted', '0123456789abcdef', (n) => `0123456789abcde${n}`],
];
const COPIES = 4;

const ALL: readonly Projection[] = [...PROJECTIONS, ...DELIVERY_PROJECTIONS];

async function append(events: typeof EVENTS, log: World['log']): Promise<void> {
  for (const [file, text, other] of events)
    for (let n = 0; n < COPIES; n += 1) {
      const golden = readFileSync(join(__dirname, `../golden/${file}.json`), 'utf8');
      const { stream, ...event } = JSON.parse(golden.replaceAll(text, other(n))) as DomainEvent & {
        readonly stream: string;
      };
      await appendAtEnd(log, stream, toNewEvent(event, randomUUID()));
    }
}

/** What is wrong with one document, and what undoes it. */
interface Planted {
  readonly id: string;
  readonly fields: readonly string[];
  readonly write: Write;
  readonly undo: Write;
}

const KINDS = ['field', 'missing', 'surplus'] as const;

function planted(projection: Projection, found: Found, kind: (typeof KINDS)[number], pick: number): Planted {
  const { id, version, body } = found;
  const document = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const { fields } = projection.describe(document, id, new Directory());
  const undo = { version, put: { id, fields, body } };
  if (kind === 'missing') return { id, fields: [], write: { version, remove: id }, undo };
  if (kind === 'surplus') {
    const other = `${id}~`;
    const write = { version, put: { id: other, fields, body } };
    return { id: other, fields: [], write, undo: { version, remove: other } };
  }
  const names = Object.keys(document);
  const name = names[pick % names.length]!;
  const changed = { ...document, [name]: ['planted', document[name]] };
  return { id, fields: [name], write: { version, put: { id, fields, body: JSON.stringify(changed) } }, undo };
}

/** A document that one of them lacks differs in all of its fields. */
const ANY_FIELDS: unknown = expect.any(Array);

/** Errors in random documents of all read models are found, each in its place, whatever they are. */
export function plantedErrors(open: () => Promise<World>, numRuns: number): void {
  let world: World;
  beforeAll(async () => {
    world = await open();
    await append(EVENTS, world.log);
    await append(DELIVERIES, await world.deliveries());
    const rebuilt = await rebuildProjections(world, 'all', { force: true });
    expect(rebuilt.map(({ parked }) => parked)).toEqual(ALL.map(() => 0));
  });
  afterAll(() => world.end());

  const documentsOf = async ({ collection: { name } }: Projection): Promise<readonly Found[]> => {
    const all: Found[] = [];
    await world.store.refresh({ collection: name });
    for await (const page of world.store.scan({ collection: name }, EVERYTHING)) all.push(...page);
    return all;
  };

  test('an error in one document of each read model is found every time (decisions X127)', async () => {
    const documents = await Promise.all(ALL.map(documentsOf));
    for (const [at, { collection }] of ALL.entries())
      expect([collection.name, documents[at]!.length > 0]).toEqual([collection.name, true]);
    const one = fc.tuple(fc.constantFrom(...KINDS), fc.nat(), fc.nat());
    const errors = fc.tuple(...ALL.map(() => one));
    await fc.assert(
      fc.asyncProperty(errors, async (picks) => {
        const plants = ALL.map((projection, at) => {
          const [kind, document, field] = picks[at]!;
          const all = documents[at]!;
          return planted(projection, all[document % all.length]!, kind, field);
        });
        const write = async (what: 'write' | 'undo') => {
          for (const [at, { collection }] of ALL.entries())
            await world.store.write({ collection: collection.name }, [plants[at]![what]]);
        };
        await write('write');
        const found = await verifyProjections(world, ['all']);
        await write('undo');
        const seen = found.map(({ name, differing, differences }) => [
          name,
          differing,
          differences[0]?.id,
          differences[0]?.fields ?? [],
        ]);
        const expected = ALL.map(({ collection }, at) => [
          collection.name,
          1,
          plants[at]!.id,
          plants[at]!.fields.length > 0 ? plants[at]!.fields : ANY_FIELDS,
        ]);
        expect(seen).toEqual(expected);
      }),
      { numRuns },
    );
    const found = await verifyProjections(world, ['all']);
    expect(found.map(({ differing }) => differing)).toEqual(ALL.map(() => 0));
  });
}
