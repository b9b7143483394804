import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { readStoreContract } from '../contracts/read-store';
import { triedStore } from '../support/store-folder';

readStoreContract('SQLite in this thread', () => triedStore(openEmbeddedStore, false));
