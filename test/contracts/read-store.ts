import { type ReadStore } from '../../src/kernel/read-store';
import { type Clock, SYSTEM_CLOCK } from '../../src/runtime/clock';
import { answering } from './read-store/answering';
import { ending } from './read-store/ending';
import { extremes } from './read-store/extremes';
import { generations } from './read-store/generations';
import { grouping } from './read-store/grouping';
import { leasing } from './read-store/leasing';
import { limited } from './read-store/limited';
import { paging } from './read-store/paging';
import { reading } from './read-store/reading';
import { scanning } from './read-store/scanning';
import { searching } from './read-store/searching';
import { type Subject } from './read-store/subject';
import { writing } from './read-store/writing';

/** A store to be tried, empty. */
export interface StoreFixture {
  readonly store: ReadStore;
  /** Closes the store and opens it again with all it holds. */
  reopen(): Promise<ReadStore>;
  close(): Promise<void>;
}

/** The promises of the `ReadStore` port: what every engine passes, without exceptions. */
export function readStoreContract(name: string, open: (clock: Clock) => Promise<StoreFixture>): void {
  describe(`${name}: a read store`, () => {
    let tried: StoreFixture | undefined;
    let store: ReadStore;

    const subject: Subject = {
      open: async (clock = SYSTEM_CLOCK) => {
        tried = await open(clock);
        return (store = tried.store);
      },
      store: () => store,
      reopen: async () => (store = await tried!.reopen()),
      close: async () => {
        await tried?.close();
        tried = undefined;
      },
    };
    describe('writes', () => writing(subject));
    describe('reads', () => reading(subject));
    describe('searches like a brute-force oracle', () => searching(subject));
    describe('finds groups', () => grouping(subject));
    describe('pages through results', () => paging(subject));
    describe('stores, finds and orders', () => extremes(subject));
    describe('ends queries', () => ending(subject));
    describe('limits the size of', () => limited(subject));
    describe('makes one answer', () => answering(subject));
    describe('scans', () => scanning(subject));
    describe('keeps generations', () => generations(subject));
    describe('gives leases', () => leasing(subject));
  });
}
