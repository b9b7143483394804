import { asOfOperations as asOfApi } from '../../operations/rest/as-of.controller';
import { networkClaimOperations as claimApi } from '../../operations/rest/claims.controller';
import { directoryOperations as directoryApi } from '../../operations/rest/directory.controller';
import { loadOperations as loadApi } from '../../operations/rest/loads.controller';
import { mappingOperations as mappingApi } from '../../operations/rest/mappings.controller';
import { anySourceOperations as sourceApi } from '../../operations/rest/sources.controller';
import { whyOperations as whyApi } from '../../operations/rest/why.controller';
import * as ui from '../content';
import { listPage } from '../lists';
import { type Operator } from '../operator';

export const feeds = listPage({
  page: ['feeds', 'Feeds', 'All feeds', 'The network has no feeds.'],
  from: [directoryApi.listAllFeeds, 'nothing'],
  rows: ({ feeds: all }) => all,
  columns: {
    Feed: ({ feedId }) => ui.linked(feedId, 'loads', { feedId }),
    ...ui.own('name'),
    Programs: ({ programs }) => programs.map(({ programId, name }) => `${name} (${programId})`).join(', '),
    Active: ({ active }) => ui.yes(active),
    Visible: ({ visible }) => ui.yes(visible),
    Products: ({ numberOfProducts }) => numberOfProducts,
    'Unmapped names': (one) => ui.linked(one.numberOfUnmappedCategories, 'mappings', { fid: one.feedId }),
    Changed: ({ lastModifiedTime }) => lastModifiedTime ?? 'never loaded',
  },
});

const SOURCE_ACTIONS = {
  set: ui.action(
    'Fetch a feed regularly',
    sourceApi.setAnySource,
    'Feed :feedId is fetched now, and every :every.',
    {
      explains: 'The feed is replaced by the file: what it does not have is removed.',
      fields: ui.lines(
        { feedId: 'Feed', url: 'Address of the file', every: 'Every (30m, 6h, 1d)' },
        { format: 'Format, if it is not to be recognised' },
      ),
      body: ({ feedId, url, every, format }) => ({
        ...{ feedId: Number(feedId), url, every },
        ...(format === undefined || format === '' ? {} : { format }),
      }),
    },
  ),
  fetch: ui.action('Fetch now', sourceApi.fetchAnySource, 'Feed :fid is fetched now.'),
  accept: ui.action('Accept', sourceApi.acceptAnySource, 'Feed :fid is fetched now, and may shrink.', {
    explains: 'The file that was held removes more than half of the feed.',
    isGrave: true,
  }),
  remove: ui.action('Remove', sourceApi.removeAnySource, 'Feed :fid is no longer fetched.', {
    explains: 'Its products stay.',
  }),
};

export const sources = listPage({
  page: ['sources', 'Sources of feeds', 'Files that feeds are fetched from', 'No feed is fetched.'],
  from: [sourceApi.listAnySources, 'nothing'],
  fields: ui.lines({}, { fid: 'Feed' }),
  actions: SOURCE_ACTIONS,
  before: () => ui.form(SOURCE_ACTIONS, 'set', {}),
  rows: (all) => all,
  columns: {
    Feed: ({ feedId }) => ui.linked(feedId, 'loads', { feedId }),
    State: ({ state }) => ui.state(state),
    ...ui.own('every', 'fetched', 'next', 'url'),
    'What is wrong': ({ reason, listed, removed }) =>
      removed === undefined ? reason : `the file does not have ${removed} of ${listed ?? 0} products`,
    Now: ({ feedId: fid, state }) =>
      state === 'held'
        ? ui.form(SOURCE_ACTIONS, 'accept', { fid })
        : ui.form(SOURCE_ACTIONS, 'fetch', { fid }),
    End: ({ feedId: fid }) => ui.form(SOURCE_ACTIONS, 'remove', { fid }),
  },
});

export const loads = listPage({
  page: ['loads', 'Loads of a feed', 'The last posts', 'Nothing was posted to it.'],
  from: [loadApi.listAnyImports, 'nothing'],
  fields: ui.lines({ feedId: 'Feed' }),
  rows: ({ imports }) => imports,
  before: ({ feedId }) => ui.feedLinks(feedId),
  columns: {
    Load: ({ importId: loadId, time }, { feedId }) => ui.linked(time, 'load', { feedId, loadId }),
    State: ({ status }) => ui.state(status),
    By: ({ fetched }) => (fetched === true ? 'source' : 'post'),
    ...ui.own('mode', 'new', 'revised', 'repriced'),
    Removed: ({ removed, largeRemoval }) => (largeRemoval === true ? ui.trouble(removed) : removed),
    Refused: ({ refused }) => ui.trouble(refused),
    Unmapped: ({ unmapped = 0 }) => ui.trouble(unmapped),
    'First fault': ({ faults }) => faults[0]?.message,
  },
});

const LOAD_ACTIONS = {
  restore: ui.action('Undo this load', loadApi.restoreFeed, 'Load :loadId of feed :feedId is undone.', {
    explains: 'What was in the feed before it is brought back, except products that have changed since.',
    isGrave: true,
  }),
};

export const load: ui.ConsolePage = {
  ...{ name: 'load', title: 'Load', actions: LOAD_ACTIONS },
  fields: ui.lines({ feedId: 'Feed', loadId: 'Id of the load or deletion' }),
  sections: [
    ui.section('load', 'What was posted', outcome),
    ui.section('restore', 'What undoing it would change', undoing),
  ],
};

async function outcome(operator: Operator, { feedId, loadId }: ui.Asked): Promise<ui.Bodies> {
  const { imports } = await operator.get(loadApi.listAnyImports, { feedId });
  const found = imports.find(({ importId }) => importId === loadId);
  const all = ui.linked(`all loads of feed ${feedId}`, 'loads', { feedId });
  const unlisted = 'It is not among the last posts: it is older, a deletion, or of another feed.';
  if (found === undefined) return [ui.links(all), ui.problem(unlisted)];
  const { faults, ignoredFields = [], status, restores, ...others } = found;
  const unmapped = ui.linked('not mapped, and so not seen', 'mappings', { fid: feedId, state: 'unmapped' });
  return [
    ui.facts({ status: ui.state(status), ...others }),
    ui.links(
      all,
      restores && ui.linked('the load that it has undone', 'load', { feedId, loadId: restores }),
      others.unmapped && unmapped,
    ),
    ui.table(faults, 'Nothing was wrong.', {
      ...ui.own('code'),
      Product: ({ sourceProductId: one }) => one && ui.product(feedId, one),
      'What is wrong': ({ message }) => message,
      Seen: ({ sourceProductId: one }) =>
        one && ui.linked('why?', 'why', { kind: 'product', feedId, id: one }),
    }),
    ignoredFields.length > 0 &&
      ui.table(ignoredFields, '', { 'Ignored field': ({ field }) => field, ...ui.own('products') }),
  ];
}

async function undoing(operator: Operator, asked: ui.Asked): Promise<ui.Bodies> {
  const { feedId, loadId } = asked;
  const plan = await operator.get(loadApi.getRestorePlan, asked);
  const { products: changed, leftAlone, new: listedAgain, what, at, removed, changedAgain } = plan;
  const counts = { listedAgain, changedBack: plan.revised, priceChangedBack: plan.repriced, removed };
  return [
    ui.facts({ what, at, ...counts, changedSinceAndLeftAlone: changedAgain }),
    ui.table(changed, 'It would change nothing.', {
      'The first products': ({ sourceProductId }) => ui.product(feedId, sourceProductId),
      ...ui.own('change'),
    }),
    leftAlone.length > 0 && ui.facts({ 'Left alone': leftAlone.join(', ') }),
    changed.length > 0 && ui.form(LOAD_ACTIONS, 'restore', { feedId, loadId }),
  ];
}

const MAPPING_ACTIONS = {
  map: ui.action('Map', mappingApi.changeMappings, '“:name” is mapped to :categoryId.', {
    body: ({ fid, name, categoryId }) => ({ mappings: [{ feedId: Number(fid), name, categoryId }] }),
  }),
  unmap: ui.action('Unmap', mappingApi.unmapName, '“:name” is no longer mapped.', {
    explains: 'Publishers no longer see products that have no other category.',
  }),
};

export const mappings: ui.ConsolePage = {
  ...{ name: 'mappings', title: 'Mappings', actions: MAPPING_ACTIONS },
  fields: [...ui.lines({ fid: 'Feed' }), ui.choice('state', 'State', ['mapped', 'unmapped'])],
  sections: [ui.section('mappings', ({ fid }) => `Category names of feed ${fid}`, mappingBodies)],
};

async function mappingBodies(operator: Operator, asked: ui.Asked): Promise<ui.Bodies> {
  const { fid } = asked;
  const [{ categoryMappings }, { suggestions }] = await Promise.all([
    operator.get(mappingApi.listMappings, asked),
    operator.get(mappingApi.suggestMappings, { fid }),
  ]);
  const suggested = new Map(suggestions.map((one) => [one.categoryName, one.suggestions]));
  const choicesOf = (name: string) =>
    (suggested.get(name) ?? []).map(
      ({ categoryId, path }) => [categoryId, `${path} (${categoryId})`] as const,
    );
  return [
    ui.feedLinks(fid),
    ui.table(categoryMappings, 'The feed has no such category names.', {
      Name: ({ categoryName }) => categoryName,
      Products: ({ productCount }) => productCount,
      State: (one) => ui.state(one.state),
      Category: ({ tdCategoryId: id, tdCategoryName = '' }) => id && `${tdCategoryName} (${id})`,
      Suggested: ({ categoryName }) => choicesOf(categoryName)[0]?.[1],
      Change: ({ categoryName: name, state: is }) => {
        if (is === 'mapped') return ui.form(MAPPING_ACTIONS, 'unmap', { fid, name });
        const choices = choicesOf(name);
        const field = ui.required('categoryId', 'Category');
        return ui.form(MAPPING_ACTIONS, 'map', { fid, name }, [
          choices.length === 0 ? field : { ...field, choices },
        ]);
      },
    }),
  ];
}

/** Lists are as a publisher (organisation) sees them. */
const VIEWER = { publisher: 'As this publisher (organisation) sees them' };
const AS_OF = { asOf: 'As of (name)' };

export const products = listPage({
  page: ['products', 'Products', 'Products', 'None that this publisher sees.'],
  from: [asOfApi.searchProductsAsOf, 'cursor'],
  fields: ui.lines({ ...VIEWER, fid: 'Feeds' }, { ...AS_OF, q: 'Words' }),
  rows: ({ products: all }) =>
    all.flatMap(({ offers, ...one }) => offers.map((offer) => ({ ...one, ...offer }))),
  columns: {
    Product: ({ feedId, sourceProductId: id }) => ui.product(feedId, id),
    ...ui.own('feedId', 'name', 'brand', 'programName', 'price'),
    Seen: ({ feedId, sourceProductId: id }, { publisher }) =>
      ui.linked('why?', 'why', { kind: 'product', feedId, id, publisher }),
  },
});

export const vouchers = listPage({
  page: ['vouchers', 'Vouchers', 'Vouchers', 'None that this publisher sees.'],
  from: [asOfApi.listVouchersAsOf, 'page'],
  fields: ui.lines(VIEWER, { ...AS_OF, keywords: 'Words' }),
  keys: { dateOutputFormat: 'iso8601' },
  rows: (all) => all,
  columns: {
    Voucher: ({ id }) => ui.thing('voucher', id, id),
    ...ui.own('title', 'code', 'programName', 'startDate', 'endDate'),
    Seen: ({ id }, { publisher }) => ui.linked('why?', 'why', { kind: 'voucher', id, publisher }),
  },
});

export const transactions = listPage({
  page: ['transactions', 'Transactions', 'The newest first', 'No transactions.'],
  from: [asOfApi.listTransactionsAsOf, 'cursor'],
  fields: ui.lines(
    {},
    { orderNumber: 'Order number', programId: 'Program', messageTypeId: 'States (ids)', ...AS_OF },
  ),
  rows: (all) => all,
  columns: {
    Transaction: ({ transactionId: id, legacyTransactionId: legacy }) =>
      ui.thing('transaction', id ?? legacy, legacy),
    ...ui.own('timeOfEvent', 'stateName'),
    Program: ({ programId: id }) => ui.thing('program', id, id),
    ...ui.own('siteName', 'orderValue'),
    Commission: ({ publisherCommission }) => publisherCommission,
    Currency: ({ currencyId }) => currencyId,
  },
});

/** Statuses that operators decide. */
const AT_NETWORK = [100, 105];

export const claims = listPage({
  page: ['claims', 'Claims', 'The oldest first', 'No claims.'],
  from: [claimApi.listNetworkClaims, 'offset'],
  fields: ui.lines(
    {},
    { claimId: 'Id', programId: 'Program', statusId: 'Statuses (100,105 if none is given)' },
  ),
  rows: (all) => all,
  columns: {
    Claim: ({ claimId: id }) => ui.thing('claim', id, id),
    Filed: ({ timeStamp }) => timeStamp,
    Status: ({ statusName, statusId }) => `${statusName} (${statusId})`,
    ...ui.own('programName', 'siteName', 'orderNumber', 'orderValue'),
    Decision: ({ claimId, versionNo, statusId }) =>
      AT_NETWORK.includes(statusId) ? ui.linked('decide', 'claim', { id: claimId, versionNo }) : undefined,
  },
});

/** Statuses by which operators reject (Document 3, Statuses), of those that need no message first. */
const REJECTIONS = ['211', '111', '201'] as const;

const RELEASED = 'Claim :id awaits the approval of its advertiser.';

const DECISIONS = {
  release: ui.action('Release to its advertiser', claimApi.releaseClaim, RELEASED),
  reject: ui.action('Reject', claimApi.rejectClaim, 'Claim :id is rejected.', {
    fields: [
      { ...ui.required('statusId', 'With status'), choices: REJECTIONS.map((id) => [id, id] as const) },
      ...ui.lines({}, { message: 'Message for its publisher; 111 and 201 need one' }),
    ],
  }),
};

export const claim: ui.ConsolePage = {
  ...{ name: 'claim', title: 'Decide a claim', actions: DECISIONS },
  fields: ui.lines({ id: 'Id', versionNo: 'Version' }),
  sections: [
    ui.section(
      'claim',
      ({ id }) => `Claim ${id}`,
      async (operator, { id, versionNo }) => [
        await claims.part(operator, { claimId: id }),
        ui.form(DECISIONS, 'release', { id, versionNo }),
        ui.form(DECISIONS, 'reject', { id, versionNo }),
      ],
    ),
  ],
};

const QUESTIONS = {
  product: 'is a product seen',
  voucher: 'is a voucher seen',
  delivery: 'was a message sent',
};

export const why: ui.ConsolePage = {
  ...{ name: 'why', title: 'Why?' },
  fields: [
    { ...ui.required('kind', 'What'), choices: Object.entries(QUESTIONS) },
    ...ui.lines(
      { id: 'Its id; for messages, of what they are about: a product is FEED-ID' },
      { feedId: 'Feed, of a product', publisher: 'As this publisher (organisation) sees it' },
    ),
  ],
  sections: [
    ui.section(
      'why',
      ({ kind, id }) => `${kind} ${id}`,
      (operator, asked) => (asked['kind'] === 'delivery' ? explained : visibility)(operator, asked),
    ),
  ],
};

async function explained(operator: Operator, { id }: ui.Asked): Promise<ui.Bodies> {
  const { lines } = await operator.get(whyApi.whyDelivery, { id });
  const messages = new Set(lines.join('\n').match(/msg_\w+/g));
  return [
    ui.links(...[...messages].map((one) => ui.linked(`message ${one}`, 'message', { messageId: one }))),
    { is: 'text', text: lines.join('\n') },
  ];
}

async function visibility(operator: Operator, asked: ui.Asked): Promise<ui.Bodies> {
  const { kind, feedId, id = '', publisher } = asked;
  const isProduct = kind === 'product';
  const { visible, conditions } = isProduct
    ? await operator.get(whyApi.whyProduct, { fid: feedId, spId: id, publisher })
    : await operator.get(whyApi.whyVoucher, { id, publisher });
  return [
    ui.facts({ Seen: ui.yes(visible) }),
    ui.table(conditions, '', {
      ...ui.own('condition'),
      Holds: ({ holds }) => ui.yes(holds),
      'What it depends on': ({ found }) => found,
      'What helps': ({ remedy }) => remedy,
    }),
    ui.links(isProduct ? ui.product(feedId, id, 'its history') : ui.thing('voucher', id, 'its history')),
    isProduct && ui.feedLinks(feedId),
  ];
}
