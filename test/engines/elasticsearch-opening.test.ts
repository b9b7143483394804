import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { UnusableUrl } from '../../src/runtime/unavailable';
import { EVERYTHING } from '../../src/kernel/query';
import { FaultyElasticsearch } from '../support/faulty-elasticsearch';

const target = { collection: 'products' };
const HASTY = { retryMs: { read: 0, write: 0 } };

test.each([
  'sqlite:',
  'nowhere',
  'ftp://localhost:9200',
  'http://localhost:9200/With%20Blank',
  'http://localhost:9200/a/b',
  'http://localhost:9200/_hidden',
])('%s is refused as a URL', (url) => {
  expect(() => openElasticsearch(url)).toThrow(UnusableUrl);
});

test('an error about a URL does not contain its password', () => {
  const open = () => openElasticsearch('https://somebody:secret@localhost:9200/UPPER');
  expect(open).toThrow(/"UPPER".*lower-case/);
  expect(open).not.toThrow(/secret/);
});

test.each([
  ['no credentials', '', {}, undefined],
  ['a user and password', 'some%40body:se%2Fcret@', {}, `Basic ${btoa('some@body:se/cret')}`],
  ['an API key', '', { apiKey: 'a2V5' }, 'ApiKey a2V5'],
  ['an API key instead of a user', 'somebody:secret@', { apiKey: 'a2V5' }, 'ApiKey a2V5'],
])('the client sends %s', async (_, user, options, authorization) => {
  const server = await FaultyElasticsearch.start();
  server.fault = () => ({ status: 404, error: 'index_not_found_exception' });
  const store = openElasticsearch(server.url.replace('//', `//${user}`), { ...HASTY, ...options });
  await expect(store.count(target, EVERYTHING)).rejects.toMatchObject({ name: 'NoGeneration' });
  expect(server.asked.map((request) => request.authorization)).toEqual([authorization]);
  await store.close();
  await server.stop();
});

test.each([
  ['', '/affilog.products.live'],
  ['/', '/affilog.products.live'],
  ['/shop-2_b', '/shop-2_b.products.live'],
  ['/shop-2_b/', '/shop-2_b.products.live'],
])('the path "%s" sets the prefix of all index names', async (path, index) => {
  const server = await FaultyElasticsearch.start();
  server.fault = () => ({ status: 404, error: 'index_not_found_exception' });
  const store = openElasticsearch(`${server.url}${path}`, HASTY);
  await expect(store.count(target, EVERYTHING)).rejects.toMatchObject({ name: 'NoGeneration' });
  expect(server.asked.map((request) => request.path.replace(/\?.*/, ''))).toEqual([index]);
  await store.close();
  await server.stop();
});

test.each([
  ['another kind of server', 'application/json', '{}', 'not an Elasticsearch'],
  ['a page of a proxy', 'text/html', '<html>', 'not an Elasticsearch'],
])('%s is not mistaken for an Elasticsearch', async (_, type, body, why) => {
  const server = createServer((_request, response) => response.setHeader('content-type', type).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const store = openElasticsearch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, HASTY);
  await expect(store.count(target, EVERYTHING)).rejects.toMatchObject({
    name: 'EngineUnavailable',
    message: expect.stringContaining(why),
  });
  await store.close();
  server.closeAllConnections();
  server.close();
});
