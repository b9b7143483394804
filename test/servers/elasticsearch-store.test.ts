import { Client } from '@elastic/elasticsearch';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { readStoreContract } from '../contracts/read-store';
import { OFFERS } from '../contracts/read-store/documents';
import { live } from '../contracts/read-store/subject';
import { ownStore, serverUrl, storeFixture } from './server';

readStoreContract('Elasticsearch', storeFixture);

test('an index is sorted by the field that most listings are sorted by, greatest first', async () => {
  const { url, remove } = ownStore();
  const store = openElasticsearch(url);
  const server = new Client({ node: serverUrl() });
  await live(store, OFFERS);
  const index = `${new URL(url).pathname.slice(1)}.${OFFERS.name}.*`;
  const [state] = Object.values(await server.indices.getSettings({ index }));
  expect(state?.settings?.index?.sort).toEqual({ field: 'f_modified', order: 'desc' });
  await Promise.all([store.close(), server.close()]);
  await remove();
});
