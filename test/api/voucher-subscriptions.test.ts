import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutomationRunner } from '../../src/processes/automation-runner';
import { voucherTurns } from '../../src/processes/automations';
import { type Message } from '../../src/domain/deliveries/delivery-events';
import { voucherTopic } from '../../src/domain/vouchers/topic';
import { Matcher } from '../../src/delivery/matching/matcher';
import { Rerenderer } from '../../src/delivery/matching/rerender';
import { receiverIdOf } from '../../src/domain/subscriptions/receiver-id';
import { START } from '../../src/kernel/event';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { TestClock } from '../support/clock';
import { errorsIn } from './claim-network';
import { DAY, NOW, VOUCHER_TOKENS, type VoucherClient, voucherWorld } from './voucher-network';

const PATH = '/1.0/vouchers/subscriptions';
const RECEIVER = {
  httpMethod: 'POST',
  receiverUrl: 'https://shop.example/vouchers',
  receiverBody: `{${voucherTopic.attributes.map((name) => `"${name}": \${${name}}`).join(', ')}}`,
  receiverFormat: 'JSON',
} as const;
const MANY_WORDS = Array.from({ length: 600 }, (_, at) => `a${at} b${at}`);
/** New, Changed, Ended. */
const ALL = [1, 2, 3];

let deliveries: AppDeliveries;
// Declared first, so that projecting ends before the application does.
afterAll(() => deliveries.stop());
const world = voucherWorld();
beforeAll(async () => {
  deliveries = await projectDeliveries(world.app, Date.now);
});

const send = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, as: VoucherClient, body?: unknown) =>
  world.app.request(method, `${PATH}${path}`, {
    token: VOUCHER_TOKENS[as],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const subscription = (filter: object = {}) => ({
  filter: { changeIds: ALL, ...filter },
  receivers: [RECEIVER],
});

async function subscribe(as: VoucherClient, filter: object = {}): Promise<string> {
  const answer = await send('POST', '', as, subscription(filter));
  expect([answer.statusCode, answer.body]).toEqual([201, answer.body]);
  return answer.json<{ subscriptionId: string }>().subscriptionId;
}

type Body = Readonly<Record<string, unknown>>;

/** The messages that are due because of all that has happened. */
async function messages(): Promise<readonly Message[]> {
  const matcher = new Matcher([voucherTopic]);
  const found: Message[] = [];
  for await (const { events } of world.app.engines.log.readAll({ after: START, prefixes: matcher.streams }))
    for (const event of events)
      for (const due of matcher.match(event)) if (due.type === 'MessageDue') found.push(due.data);
  return found;
}

/** What a subscription has been told: change and title. */
async function told(id: string): Promise<readonly string[]> {
  const own = (await messages()).filter(({ subscriptionId }) => subscriptionId === id);
  return own.map((message) => `${String(bodyOf(message)['changeName'])} ${String(bodyOf(message)['title'])}`);
}

const bodyOf = ({ request }: Message): Body => JSON.parse(request?.body ?? '{}') as Body;

/** Has the system do by itself what is due at a time. */
async function turn(at: number): Promise<void> {
  world.passTo(at);
  await world.app.settled();
  const { log, store, leases } = world.app.engines;
  const clock = new TestClock(() => at);
  const { follower } = world.app;
  const runner = new AutomationRunner({ log, store, leases, follower }, [], { clock, owner: 'test' });
  while (await runner.turn(voucherTurns));
  await runner.stop();
  await world.app.settled();
}

describe('subscriptions to vouchers (decisions N18)', () => {
  it('are answered, replaced, listed and deleted as those of Document 2, with changeIds and filters of the search', async () => {
    const filter = { programIds: [101], siteIds: [1101], voucherTypeIds: [4], languageIds: ['de'] };
    const posted = { ...subscription({ ...filter, keywords: ['free lamp'] }), strictOrder: true };
    const answer = await send('POST', '', 'nord', posted);
    const receiver = { ...RECEIVER, disabled: false, receiverId: expect.any(String) as unknown };
    const id = answer.json<{ subscriptionId: string }>().subscriptionId;
    expect([answer.statusCode, answer.json()]).toEqual([
      201,
      { subscriptionId: id, ...posted, receivers: [receiver], disabled: false },
    ]);
    const replaced = await send('PUT', `/${id}`, 'nord', subscription());
    expect(replaced.json()).toMatchObject({ filter: { changeIds: ALL } });
    await world.app.settled();
    expect((await send('GET', '', 'nord')).json()).toEqual([replaced.json()]);
    expect((await send('GET', `/${id}/secret`, 'nord')).json()).toHaveProperty('secret');
    expect((await send('DELETE', `/${id}`, 'nord')).statusCode).toBe(200);
    expect(errorsIn(await send('GET', `/${id}`, 'nord'))).toEqual([expect.stringMatching(/^CON_210 /)]);
  });

  it('are created as docs/notifications.md shows', async () => {
    const page = readFileSync(join(__dirname, '../../docs/notifications.md'), 'utf8');
    const [, example = ''] = /vouchers\/subscriptions\?token=.* -d '([^']+)'/.exec(page) ?? [];
    const answer = await send('POST', '', 'preisblick', JSON.parse(example));
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([201, undefined]);
    await send('DELETE', `/${answer.json<{ subscriptionId: string }>().subscriptionId}`, 'preisblick');
    const [, listed = ''] = /^Placeholders: ([^.]+)\./m.exec(page) ?? [];
    expect(listed.match(/\w+/g)).toEqual(voucherTopic.attributes);
  });

  it.each<[string, VoucherClient, object, string]>([
    ['without changeIds', 'nord', { filter: {}, receivers: [RECEIVER] }, 'CON_410'],
    ['with an unknown change', 'nord', subscription({ changeIds: [4] }), 'CON_350'],
    ['with an unknown type', 'nord', subscription({ voucherTypeIds: [7] }), 'CON_350'],
    ['with a language that is none', 'nord', subscription({ languageIds: ['german'] }), 'CON_350'],
    ['with words without end', 'nord', subscription({ keywords: MANY_WORDS }), 'CON_350'],
    [
      'with a program that no site of a publisher is connected to',
      'lonely',
      subscription({ programIds: [101] }),
      'CON_230',
    ],
    ['with a site of another publisher', 'preisblickAll', subscription({ siteIds: [1201] }), 'CON_430'],
    ['without a receiver', 'nord', { filter: { changeIds: ALL } }, 'CON_250'],
    [
      'with an attribute of claims',
      'nord',
      { ...subscription(), receivers: [{ ...RECEIVER, receiverBody: '{"a": ${claimId}}' }] },
      'CON_440',
    ],
  ])('have the errors of Document 2: %s', async (_, as, posted, code) => {
    const answer = await send('POST', '', as, posted);
    expect(errorsIn(answer).map((error) => error.slice(0, 7))).toEqual([code]);
  });

  it('do not have the lists of other filters, which are reported as ignored fields', async () => {
    const answer = await send('POST', '', 'nord', subscription({ eventIds: [999_999] }));
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([201, 'filter.eventIds']);
    await send('DELETE', `/${answer.json<{ subscriptionId: string }>().subscriptionId}`, 'nord');
  });

  it('a test has example values of the change', async () => {
    const id = await subscribe('preisblick', { changeIds: [3] });
    const tested = `/${id}/receivers/${receiverIdOf(id, RECEIVER)}/test`;
    expect((await send('POST', tested, 'preisblick')).statusCode).toBe(202);
    const [message] = (await messages()).filter(({ subscriptionId }) => subscriptionId === id);
    expect(message && bodyOf(message)).toMatchObject({
      voucherId: 1,
      changeName: 'Ended',
      discountAmount: 10,
    });
    await send('DELETE', `/${id}`, 'preisblick');
  });
});

describe('messages about vouchers (decisions N18)', () => {
  it('go to the owner and to publishers that may see the voucher, by their sites', async () => {
    const ids = {
      owner: await subscribe('nord'),
      stranger: await subscribe('casa'),
      site: await subscribe('preisblick'),
      publisher: await subscribe('preisblickAll'),
      deals: await subscribe('deals'),
      dealsSite: await subscribe('deals', { siteIds: [1202] }),
      lonely: await subscribe('lonely'),
    };
    await world.create({ title: 'any' });
    await world.create({ title: 'one', siteIds: [1203] });
    await world.create({ title: 'other', programId: 102 });
    expect(await told(ids.owner)).toEqual(['New any', 'New one', 'New other']);
    expect(await told(ids.site)).toEqual(['New any']);
    expect(await told(ids.publisher)).toEqual(['New any', 'New other']);
    expect(await told(ids.deals)).toEqual(['New any', 'New one', 'New other']);
    expect(await told(ids.dealsSite)).toEqual(['New any']);
    expect([await told(ids.stranger), await told(ids.lonely)]).toEqual([[], []]);
    for (const [as, id] of [
      ['nord', ids.owner],
      ['casa', ids.stranger],
      ['preisblick', ids.site],
      ['preisblickAll', ids.publisher],
      ['deals', ids.deals],
      ['deals', ids.dealsSite],
      ['lonely', ids.lonely],
    ] as const)
      await send('DELETE', `/${id}`, as);
  });

  it('have the fields of a listed voucher, and what has become of it', async () => {
    const id = await subscribe('preisblick');
    const details = {
      code: 'X-1',
      voucherTypeId: 2,
      discountAmount: 10.5,
      isPercentage: false,
      siteIds: [1101],
    };
    const voucherId = await world.create({ ...details, languageId: 'de', publisherInformation: 'soon' });
    await world.remove(voucherId);
    const [created, ended] = (await messages()).filter(({ subscriptionId }) => subscriptionId === id);
    expect(created && bodyOf(created)).toEqual({
      ...{
        voucherId,
        changeId: 1,
        changeName: 'New',
        changeTime: new Date(NOW).toISOString(),
        endReason: null,
      },
      ...{
        programId: 101,
        title: 'Free delivery',
        voucherTypeId: 2,
        voucherTypeName: 'Discount',
        code: 'X-1',
      },
      shortDescription: 'Nothing to pay for delivery',
      description: 'Whatever you order is delivered for nothing.',
      ...{ startDate: new Date(NOW).toISOString(), endDate: new Date(NOW + 30 * DAY).toISOString() },
      ...{ publishStartDate: null, publishEndDate: null, siteSpecific: 'true', exclusive: 'true' },
      ...{
        landingUrl: null,
        discountAmount: 10.5,
        isPercentage: 'false',
        currencyId: 'EUR',
        languageId: 'de',
      },
      publisherInformation: 'soon',
    });
    expect(ended && bodyOf(ended)).toMatchObject({ changeId: 3, endReason: 'withdrawn', code: 'X-1' });
    expect([created?.subject, created?.sequence, ended?.sequence]).toEqual([String(voucherId), 1, 2]);
    await send('DELETE', `/${id}`, 'preisblick');
  });

  it.each<[string, object, readonly string[]]>([
    ['programIds', { programIds: [102] }, ['New of 102']],
    ['siteIds', { siteIds: [1102] }, ['New of 102']],
    ['voucherTypeIds', { voucherTypeIds: [6] }, ['New Grüne Lampen']],
    ['languageIds, in whatever case', { languageIds: ['DE'] }, ['New Grüne Lampen']],
    [
      'keywords: all words of one of them, in any spelling',
      { keywords: ['nothing at', 'GRUENE lampen'] },
      ['New Grüne Lampen'],
    ],
    ['changeIds', { changeIds: [3] }, []],
  ])('are selected by %s', async (_, filter, expected) => {
    const id = await subscribe('preisblickAll', filter);
    await world.create({ title: 'of 102', programId: 102 });
    await world.create({ title: 'Grüne Lampen', voucherTypeId: 6, languageId: 'de' });
    expect(await told(id)).toEqual(expected);
    await send('DELETE', `/${id}`, 'preisblickAll');
  });

  it('say what an edit is to each: who saw it before, and who sees and selects it now', async () => {
    const ids = {
      site: await subscribe('preisblick'),
      deals: await subscribe('deals'),
      lamps: await subscribe('nord', { keywords: ['lamp'] }),
      chairs: await subscribe('nord', { keywords: ['chair'] }),
    };
    const post = (changes: object) => world.create({ sourceId: 's', ...changes });
    await post({ title: 'lamp' });
    await post({ title: 'lamp', code: 'SECRET', siteIds: [1202] });
    await post({ title: 'chair', siteIds: [1202] });
    await post({ title: 'chair' });
    expect(await told(ids.site)).toEqual(['New lamp', 'Ended lamp', 'New chair']);
    expect(await told(ids.deals)).toEqual(['New lamp', 'Changed lamp', 'Changed chair', 'Changed chair']);
    expect(await told(ids.lamps)).toEqual(['New lamp', 'Changed lamp', 'Ended lamp']);
    expect(await told(ids.chairs)).toEqual(['New chair', 'Changed chair']);
    const toSite = (await messages()).filter(({ subscriptionId }) => subscriptionId === ids.site);
    expect(toSite.map((message) => bodyOf(message)['code'])).toEqual([null, null, null]);
    expect(bodyOf(toSite[1]!)['endReason']).toBe('edited');
    // Rendered again, as after a change of the receiver, it is the same.
    const rerenderer = new Rerenderer(world.app.engines.log, [voucherTopic]);
    const again = await rerenderer.current(toSite[1]!, START);
    expect(again?.request).toEqual(toSite[1]?.request);
    await send('DELETE', `/${ids.site}`, 'preisblick');
    await send('DELETE', `/${ids.deals}`, 'deals');
    for (const id of [ids.lamps, ids.chairs]) await send('DELETE', `/${id}`, 'nord');
  });

  // Before time passes: a backfill ends at the first event after its period.
  it('of the past are made by a backfill, by who could see them then', async () => {
    await world.create({ title: 'before' });
    await world.create({ title: 'foreign', siteIds: [1202] });
    const id = await subscribe('preisblick');
    await world.create({ title: 'after' });
    const period = { minTime: new Date(NOW - DAY).toISOString(), maxTime: new Date(NOW + DAY).toISOString() };
    const made = await send('POST', `/${id}/backfills`, 'preisblick', period);
    expect([made.statusCode, made.json()]).toEqual([202, { requested: expect.any(Number) as unknown }]);
    const backfilled = (await messages()).filter(
      ({ subscriptionId, made: at }) => subscriptionId === id && at !== undefined,
    );
    const rerenderer = new Rerenderer(world.app.engines.log, [voucherTopic]);
    const rendered = await Promise.all(backfilled.map((message) => rerenderer.current(message, START)));
    const titles = rendered.map((message) => message && bodyOf(message)['title']);
    expect(titles).toContain('before');
    expect(titles).not.toContain('foreign');
    expect(titles).not.toContain('after');
    await send('DELETE', `/${id}`, 'preisblick');
  });

  it('say what time alone shows and hides, once, and not what was never shown', async () => {
    const id = await subscribe('preisblick');
    const coming = { publishStartDate: NOW + DAY, publishEndDate: NOW + 2 * DAY };
    await world.create({ title: 'coming', ...coming });
    await world.create({ title: 'short', endDate: NOW + DAY });
    await world.create({ title: 'missed', publishStartDate: NOW + DAY, publishEndDate: NOW + DAY + 1 });
    expect(await told(id)).toEqual(['New short']);
    await turn(NOW + DAY - 1);
    expect(await told(id)).toEqual(['New short']);
    await turn(NOW + DAY + 2);
    expect(await told(id)).toEqual(expect.arrayContaining(['New short', 'New coming', 'Ended short']));
    expect(await told(id)).toHaveLength(3);
    await turn(NOW + 2 * DAY + 1);
    await turn(NOW + 3 * DAY);
    expect((await told(id)).at(-1)).toBe('Ended coming');
    expect(await told(id)).toHaveLength(4);
    const last = (await messages()).findLast(({ subscriptionId }) => subscriptionId === id);
    expect(last && bodyOf(last)).toMatchObject({
      endReason: 'expired',
      changeTime: new Date(NOW + 2 * DAY + 1).toISOString(),
    });
    await send('DELETE', `/${id}`, 'preisblick');
  });

  it('an edit that is outside of the publication window ends a voucher, and one into it is new', async () => {
    const id = await subscribe('preisblick');
    const post = (changes: object) => world.create({ sourceId: 's', ...changes });
    await post({ title: 'one' });
    await post({ title: 'two', publishStartDate: NOW + DAY });
    await post({ title: 'three', publishStartDate: NOW + 2 * DAY });
    await post({ title: 'four' });
    expect(await told(id)).toEqual(['New one', 'Ended one', 'New four']);
    await send('DELETE', `/${id}`, 'preisblick');
  });

  it('what time alone does is no version of a voucher, and neither an update', async () => {
    const title = 'coming';
    const id = await world.create({ title, publishStartDate: NOW + DAY });
    const updated = (await world.list('', 'nord'))[0]?.['updateDate'];
    await turn(NOW + DAY);
    await turn(NOW + 31 * DAY);
    expect((await world.list('', 'nord'))[0]?.['updateDate']).toBe(updated);
    const versions = await world.get(`/${id}/versions`, 'nord');
    expect(versions.json<{ versions: object[] }>().versions).toMatchObject([{ version: 1 }]);
  });

  it('are explained: those of a publisher by what it saw then', async () => {
    const id = await subscribe('preisblick', { changeIds: [1] });
    const voucherId = await world.create({ title: 'x', sourceId: 'x' });
    await world.create({ title: 'x', sourceId: 'x', siteIds: [1202] });
    await world.create({ title: 'y', sourceId: 'x', siteIds: [1202] });
    const answer = await send('GET', `/${id}/explain/${voucherId}`, 'preisblick');
    expect(answer.json()).toEqual([
      expect.objectContaining({ sequenceNumber: '1', changeId: 1, result: 'matched' }),
      expect.objectContaining({
        ...{ sequenceNumber: '2', changeId: 3, result: 'excluded' },
        reason: 'filter.changeIds has 1 only, not 3',
      }),
    ]);
    const foreign = await send('GET', `/${id}/explain/999`, 'preisblick');
    expect(errorsIn(foreign)).toEqual([
      expect.stringMatching(/^CON_500 .*expected the voucherId of a voucher that you can see/),
    ]);
    await send('DELETE', `/${id}`, 'preisblick');
  });
});
