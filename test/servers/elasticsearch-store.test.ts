import { readStoreContract } from '../contracts/read-store';
import { triedStore } from './server';

readStoreContract('Elasticsearch', triedStore);
