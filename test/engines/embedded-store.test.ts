import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { readStoreContract } from '../contracts/read-store';
import { storeFixture } from '../support/store-folder';

readStoreContract('SQLite in this thread', () => storeFixture(openEmbeddedStore, false));
