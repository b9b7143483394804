import { readStoreContract } from '../contracts/read-store';
import { storeFixture } from './server';

readStoreContract('Elasticsearch', storeFixture);
