import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { BACKWARDS, END, type ResolvedEvent, START } from '@eventstore/db-client';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { NO_STREAM } from '../../../src/kernel/event';
import { collected } from '../../support/esdb-events';
import { esdbFixture } from '../../support/esdb-fixture';

// As the system projections $by_category, $by_event_type and $streams of EventStoreDB write them.

const only = esdbFixture('read-only');
const at = '2026-01-07T08:00:00.000Z';

/** Appends to a stream, and returns the ids. */
async function append(
  stream: string,
  after: number,
  ...types: readonly string[]
): Promise<readonly string[]> {
  const { log } = await openLog(only.server.file, false);
  const events = types.map((type) => ({
    id: randomUUID(),
    type,
    data: JSON.stringify({ type, at }),
    meta: '{}',
  }));
  await log.append(stream, after, events);
  await log.close();
  return events.map(({ id }) => id);
}

const textOf = (bytes: unknown): string => Buffer.from(bytes as Uint8Array).toString();
const linkOf = ({ link, event }: ResolvedEvent): string =>
  `${(link ?? event)!.revision} ${textOf((link ?? event)!.data)}`;

test('a link names its target, and has the shape of those that EventStoreDB writes (decisions X108)', async () => {
  const { category } = only;
  const [id] = await append(`${category}-1`, NO_STREAM, `${category}Listed`);
  const [link] = await collected(only.client.readStream(`$ce-${category}`));

  expect(link).toMatchObject({
    event: { isJson: false, type: '$>', streamId: `$ce-${category}`, revision: 0n },
  });
  expect(link!.link).toBeUndefined();
  expect(textOf(link!.event!.data)).toBe(`0@${category}-1`);
  const [target] = await collected(only.client.readStream(`${category}-1`));
  const position = Number(target!.event!.position!.commit);
  expect(link!.event!.metadata).toEqual({ $c: position, $p: position, $o: `${category}-1`, $causedBy: id });
  expect(link!.event!.created).toEqual(new Date(at));

  const [again] = await collected(only.client.readStream(`$ce-${category}`));
  expect(again).toEqual(link);
});

test('links are resolved where a client wants that', async () => {
  const { category } = only;
  await append(`${category}-1`, NO_STREAM, `${category}Listed`, `${category}Repriced`);
  await append(`${category}-2-3`, NO_STREAM, `${category}Listed`);
  const [first, , third] = await collected(
    only.client.readStream(`$ce-${category}`, { resolveLinkTos: true }),
  );
  const [plain] = await collected(only.client.readStream(`${category}-1`, { resolveLinkTos: true }));

  expect(plain!.link).toBeUndefined();
  expect(first!.event).toEqual(plain!.event);
  expect(first!.link).toMatchObject({ type: '$>', streamId: `$ce-${category}`, revision: 0n });
  // The category ends at the first dash.
  expect(third).toMatchObject({
    event: { streamId: `${category}-2-3`, revision: 0n },
    link: { revision: 2n },
  });
});

test('links are read by type, by category and by stream, from anywhere in both directions', async () => {
  const { category, client } = only;
  const [listed, repriced] = [`${category}Listed`, `${category}Repriced`];
  await append(`${category}-1`, NO_STREAM, listed, repriced, repriced);
  await append(`${category}-2`, NO_STREAM, listed);
  await append(`${category}-1`, 2, listed);
  const links = async (...of: Parameters<typeof client.readStream>): Promise<readonly string[]> =>
    (await collected(client.readStream(...of))).map(linkOf);

  expect(await links(`$et-${listed}`)).toEqual([
    `0 0@${category}-1`,
    `1 0@${category}-2`,
    `2 3@${category}-1`,
  ]);
  expect(await links(`$et-${repriced}`, { direction: BACKWARDS, fromRevision: END, maxCount: 1 })).toEqual([
    `1 2@${category}-1`,
  ]);
  expect(await links(`$ce-${category}`, { fromRevision: 3n })).toEqual([
    `3 0@${category}-2`,
    `4 3@${category}-1`,
  ]);
  expect(await links(`$ce-${category}`, { direction: BACKWARDS, fromRevision: 1n })).toEqual([
    `1 1@${category}-1`,
    `0 0@${category}-1`,
  ]);
  expect(await links(`$ce-${category}`, { fromRevision: 9n })).toEqual([]);
  const [last, before] = await collected(
    client.readStream('$streams', { direction: BACKWARDS, fromRevision: END, maxCount: 2 }),
  );
  expect([last!, before!].map((link) => textOf(link.event!.data))).toEqual([
    `0@${category}-2`,
    `0@${category}-1`,
  ]);
});

test('streams of links without links do not exist, and no read of all events has links', async () => {
  await append(only.stream, NO_STREAM, 'Happened');
  for (const stream of ['$ce-none', '$et-None', `$ce-${only.stream}`, '$category-x'])
    await expect(collected(only.client.readStream(stream))).rejects.toMatchObject({
      type: 'stream-not-found',
    });
  await collected(only.client.readStream(`$ce-${only.category}`));
  const all = await collected(only.client.readAll({ resolveLinkTos: true }));
  expect(all.every(({ event, link }) => link === undefined && !event!.type.startsWith('$'))).toBe(true);
  expect((await only.client.getStreamMetadata(`$ce-${only.category}`)).metadata).toBeUndefined();
});

test.each<[string, bigint | typeof START | typeof END, readonly string[]]>([
  ['its start', START, ['0 0@1', '1 0@2', '2 1@1', '3 2@1']],
  ['a revision', 0n, ['1 0@2', '2 1@1', '3 2@1']],
  ['its end', END, ['2 1@1', '3 2@1']],
])('a subscription follows links from %s', async (_, fromRevision, expected) => {
  const { category } = only;
  const type = `${category}Listed`;
  await append(`${category}-1`, NO_STREAM, type);
  await append(`${category}-2`, NO_STREAM, type);
  const seen: string[] = [];
  const subscription = only.client.subscribeToStream(`$et-${type}`, { fromRevision, resolveLinkTos: true });
  subscription.on('data', (link: ResolvedEvent) => seen.push(linkOf(link).replace(`${category}-`, '')));
  await once(subscription, 'caughtUp');
  await append(`${category}-1`, 0, type, type, 'Other');

  while (seen.length < expected.length) await once(subscription, 'data');
  expect(seen).toEqual(expected);
  await subscription.unsubscribe();
});
