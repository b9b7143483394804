import { pausedOutside, periodsEndedBy, transactions } from '../../projections/transactions';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { type Filter } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { type PositionedTransaction } from '../../src/domain/transactions/stored-transaction';
import { live, put } from '../contracts/read-store/subject';
import { small } from '../network/small-directory';
import { storeFolder } from '../support/store-folder';
import { sale } from '../support/transactions';

const END = Date.parse('2026-01-19T08:00:00.000Z');

let store: ReadStore;
let remove: () => Promise<void>;
beforeAll(async () => {
  const { directory, remove: removeFolder } = await storeFolder();
  store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  remove = removeFolder;
  const target = { collection: (await live(store, transactions.collection)).collection };
  const documents = [1, 2, 3, 4, 5, 6].flatMap((programId) =>
    ([3, 4, 5, 6] as const).map((messageTypeId) => described(programId, messageTypeId)),
  );
  await put(store, target, documents);
});
afterAll(async () => {
  await store.close();
  await remove();
});

function described(programId: number, messageTypeId: 3 | 4 | 5 | 6) {
  const stored: PositionedTransaction = {
    messageTypeId,
    transaction: sale({ programId }),
    changed: 0,
    position: 0,
    sequenceNumber: 2,
    ...(messageTypeId === 4 || messageTypeId === 6
      ? { autoApproveDate: new Date(END + programId).toISOString() }
      : {}),
  };
  const id = `${programId} in state ${messageTypeId}`;
  return { id, fields: transactions.describe(stored, id, small()).fields, body: '{}' };
}

async function found(...filters: readonly Filter[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const filter of filters) {
    const page = { filter, order: [], offset: 0, size: 100 };
    const results = await store.search({ collection: transactions.collection.name }, page);
    ids.push(...results.found.map(({ id }) => id));
  }
  return ids;
}

test('pending transactions are found from the end of their period on (decisions T4)', async () => {
  expect(await found(periodsEndedBy(END))).toEqual([]);
  expect(await found(periodsEndedBy(END + 2))).toEqual(['1 in state 4', '2 in state 4']);
});

test.each<[readonly number[], readonly number[]]>([
  [[], [1, 2, 3, 4, 5, 6]],
  [[2], [1, 3, 4, 5, 6]],
  [
    [5, 2, 3],
    [1, 4, 6],
  ],
  [
    [6, 1],
    [2, 3, 4, 5],
  ],
  [[1, 2, 3, 4, 5, 6], []],
  [
    [0, 77],
    [1, 2, 3, 4, 5, 6],
  ],
])('outside of programs %j, Paused ones of %j are found, once (decisions T4)', async (paused, others) => {
  expect(await found(...pausedOutside(paused))).toEqual(others.map((id) => `${id} in state 3`));
});
