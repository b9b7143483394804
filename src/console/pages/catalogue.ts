import { asOfOperations } from '../../operations/rest/as-of.controller';
import { networkClaimOperations } from '../../operations/rest/claims.controller';
import { directoryOperations } from '../../operations/rest/directory.controller';
import { loadOperations } from '../../operations/rest/loads.controller';
import { mappingOperations } from '../../operations/rest/mappings.controller';
import { anySourceOperations } from '../../operations/rest/sources.controller';
import { whyOperations } from '../../operations/rest/why.controller';
import * as ui from '../content';
import { listPage } from '../lists';
import { type Operator } from '../operator';

export const feeds = listPage({
  page: ['feeds', 'Feeds', 'All feeds', 'The network has no feeds.'],
  from: [directoryOperations.listAllFeeds, '/ops/1.0/feeds', 'whole'],
  rows: ({ feeds: all }) => all,
  columns: {
    Feed: ({ feedId }) => ui.linked(feedId, 'loads', { fid: feedId }),
    ...ui.own('name'),
    Programs: ({ programs }) => programs.map(({ programId, name }) => `${name} (${programId})`).join(', '),
    Active: ({ active }) => ui.yes(active),
    Visible: ({ visible }) => ui.yes(visible),
    Products: ({ numberOfProducts }) => numberOfProducts,
    'Unmapped names': (one) => ui.linked(one.numberOfUnmappedCategories, 'mappings', { fid: one.feedId }),
    Changed: ({ lastModifiedTime }) => lastModifiedTime ?? 'never loaded',
  },
});

const SOURCES = '/ops/1.0/sources';
const ABOUT_FEED = ['fid'] as const;

const SOURCE_ACTIONS = {
  set: ui.action('Fetch a feed regularly', SOURCES, [], 'Feed :feedId is fetched now, and every :every.', {
    explains: 'The feed is replaced by the file: what it does not have is removed.',
    fields: [
      ...[ui.required('feedId', 'Feed'), ui.required('url', 'Address of the file')],
      ...[
        ui.required('every', 'Every (30m, 6h, 1d)'),
        ui.line('format', 'Format, if it is not to be recognised'),
      ],
    ],
    body: ({ feedId, url, every, format }) => ({
      ...{ feedId: Number(feedId), url, every },
      ...(format === undefined || format === '' ? {} : { format }),
    }),
  }),
  fetch: ui.action('Fetch now', `${SOURCES}/fetch`, ABOUT_FEED, 'Feed :fid is fetched now.'),
  accept: ui.action('Accept', `${SOURCES}/accept`, ABOUT_FEED, 'Feed :fid is fetched now, and may shrink.', {
    explains: 'The file that was held removes more than half of the feed.',
    isGrave: true,
  }),
  remove: ui.action('Remove', SOURCES, ABOUT_FEED, 'Feed :fid is no longer fetched.', {
    explains: 'Its products stay.',
    method: 'DELETE',
  }),
};

export const sources = listPage({
  page: ['sources', 'Sources of feeds', 'Files that feeds are fetched from', 'No feed is fetched.'],
  from: [anySourceOperations.listAnySources, SOURCES, 'whole'],
  fields: [{ ...ui.line('fid', 'Feed'), isList: true }],
  actions: SOURCE_ACTIONS,
  before: () => ui.form(SOURCE_ACTIONS, 'set', {}),
  rows: (all) => all,
  columns: {
    Feed: ({ feedId }) => ui.linked(feedId, 'loads', { fid: feedId }),
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

const LOADS = '/ops/1.0/feeds/:fid/loads';

export const loads = listPage({
  page: ['loads', 'Loads of a feed', 'The last posts', 'Nothing was posted to it.'],
  from: [loadOperations.listAnyImports, LOADS, 'whole'],
  fields: [ui.required('fid', 'Feed')],
  rows: ({ imports }) => imports,
  before: ({ fid }) =>
    ui.links(
      ui.linked('history, deletions of products too', 'history', { kind: 'feed', id: fid }),
      ui.linked('mappings', 'mappings', { fid }),
      ui.linked('where it is fetched from', 'sources', { fid }),
      ui.linked('why is a product seen, or not', 'why', { kind: 'product', feedId: fid }),
    ),
  columns: {
    Load: ({ importId: id, time }, { fid }) => ui.linked(time, 'load', { fid, id }),
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
  restore: ui.action('Undo this load', `${LOADS}/:id/restore`, [], 'Load :id of feed :fid is undone.', {
    explains: 'What was in the feed before it is brought back, except products that have changed since.',
    isGrave: true,
  }),
};

export const load: ui.ConsolePage = {
  ...{ name: 'load', title: 'Load', actions: LOAD_ACTIONS },
  fields: [ui.required('fid', 'Feed'), ui.required('id', 'Id of the load or deletion')],
  sections: (operator, asked) => [
    ui.section('load', 'What was posted', () => outcome(operator, asked)),
    ui.section('restore', 'What undoing it would change', () => undoing(operator, asked)),
  ],
};

const history = (fid: string | undefined, id: string) =>
  ui.linked(id, 'history', { kind: 'product', feedId: fid, id });

async function outcome(operator: Operator, { fid, id }: ui.Asked): Promise<ui.Bodies> {
  const { imports } = await operator.get(loadOperations.listAnyImports, LOADS, { fid });
  const found = imports.find(({ importId }) => importId === id);
  const all = ui.linked(`all loads of feed ${fid}`, 'loads', { fid });
  const unlisted = 'It is not among the last posts: it is older, a deletion, or of another feed.';
  if (found === undefined) return [ui.links(all), ui.problem(unlisted)];
  const { faults, ignoredFields = [], status, restores, ...others } = found;
  const unmapped = ui.linked('not mapped, and so not seen', 'mappings', { fid, state: 'unmapped' });
  return [
    ui.facts({ status: ui.state(status), ...others }),
    ui.links(
      all,
      restores && ui.linked('the load that it has undone', 'load', { fid, id: restores }),
      others.unmapped && unmapped,
    ),
    ui.table(faults, 'Nothing was wrong.', {
      ...ui.own('code'),
      Product: ({ sourceProductId: one }) => one && history(fid, one),
      'What is wrong': ({ message }) => message,
      Seen: ({ sourceProductId: one }) =>
        one && ui.linked('why?', 'why', { kind: 'product', feedId: fid, id: one }),
    }),
    ignoredFields.length > 0 &&
      ui.table(ignoredFields, '', { 'Ignored field': ({ field }) => field, ...ui.own('products') }),
  ];
}

async function undoing(operator: Operator, { fid, id }: ui.Asked): Promise<ui.Bodies> {
  const plan = await operator.get(loadOperations.getRestorePlan, `${LOADS}/:id`, { fid, id });
  const { products: changed, leftAlone, new: listedAgain, what, at, removed, changedAgain } = plan;
  const counts = { listedAgain, changedBack: plan.revised, priceChangedBack: plan.repriced, removed };
  return [
    ui.facts({ what, at, ...counts, changedSinceAndLeftAlone: changedAgain }),
    ui.table(changed, 'It would change nothing.', {
      'The first products': ({ sourceProductId }) => history(fid, sourceProductId),
      ...ui.own('change'),
    }),
    leftAlone.length > 0 && ui.facts({ 'Left alone': leftAlone.join(', ') }),
    changed.length > 0 && ui.form(LOAD_ACTIONS, 'restore', { fid, id }),
  ];
}

const MAPPINGS = '/ops/1.0/mappings';

const MAPPING_ACTIONS = {
  map: ui.action('Map', MAPPINGS, [], '“:name” is mapped to :categoryId.', {
    body: ({ fid, name, categoryId }) => ({ mappings: [{ feedId: Number(fid), name, categoryId }] }),
  }),
  unmap: ui.action('Unmap', MAPPINGS, ['fid', 'name'], '“:name” is no longer mapped.', {
    explains: 'Publishers no longer see products that have no other category.',
    method: 'DELETE',
  }),
};

export const mappings: ui.ConsolePage = {
  ...{ name: 'mappings', title: 'Mappings', actions: MAPPING_ACTIONS },
  fields: [ui.required('fid', 'Feed'), ui.choice('state', 'State', ['mapped', 'unmapped'])],
  sections: (operator, { fid, state: wanted }) => [
    ui.section('mappings', `Category names of feed ${fid}`, async () => {
      const [{ categoryMappings }, { suggestions }] = await Promise.all([
        operator.get(mappingOperations.listMappings, MAPPINGS, { fid, state: wanted }),
        operator.get(mappingOperations.suggestMappings, `${MAPPINGS}/suggestions`, { fid }),
      ]);
      const suggested = new Map(suggestions.map((one) => [one.categoryName, one.suggestions]));
      const choicesOf = (name: string) =>
        (suggested.get(name) ?? []).map(
          ({ categoryId, path }) => [categoryId, `${path} (${categoryId})`] as const,
        );
      return [
        ui.links(
          ui.linked('history of the feed', 'history', { kind: 'feed', id: fid }),
          ui.linked('loads', 'loads', { fid }),
        ),
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
    }),
  ],
};

const VIEW = [
  ui.required('publisher', 'As this publisher (organisation) sees them'),
  ui.line('asOf', 'As of (name)'),
];

export const products = listPage({
  page: ['products', 'Products', 'Products', 'None that this publisher sees.'],
  from: [asOfOperations.searchProductsAsOf, '/ops/1.0/products', 'page'],
  fields: [...VIEW, { ...ui.required('fid', 'Feeds'), isList: true }, ui.line('q', 'Words')],
  rows: ({ products: all }) =>
    all.flatMap(({ offers, ...one }) => offers.map((offer) => ({ ...one, ...offer }))),
  columns: {
    Product: ({ feedId, sourceProductId: id }) => history(String(feedId), id),
    ...ui.own('feedId', 'name', 'brand', 'programName', 'price'),
    Seen: ({ feedId, sourceProductId: id }, { publisher }) =>
      ui.linked('why?', 'why', { kind: 'product', feedId, id, publisher }),
  },
});

export const vouchers = listPage({
  page: ['vouchers', 'Vouchers', 'Vouchers', 'None that this publisher sees.'],
  from: [asOfOperations.listVouchersAsOf, '/ops/1.0/vouchers', 'page'],
  fields: [...VIEW, ui.line('keywords', 'Words')],
  keys: { dateOutputFormat: 'iso8601' },
  rows: (all) => all,
  columns: {
    Voucher: ({ id }) => ui.linked(id, 'history', { kind: 'voucher', id }),
    ...ui.own('title', 'code', 'programName', 'startDate', 'endDate'),
    Seen: ({ id }, { publisher }) => ui.linked('why?', 'why', { kind: 'voucher', id, publisher }),
  },
});

export const transactions = listPage({
  page: ['transactions', 'Transactions', 'The newest first', 'No transactions.'],
  from: [asOfOperations.listTransactionsAsOf, '/ops/1.0/transactions', 'page'],
  fields: [
    ...[ui.line('orderNumber', 'Order number'), ui.line('programId', 'Program')],
    ...[ui.several('messageTypeId', 'States (ids)'), ui.line('asOf', 'As of (name)')],
  ],
  rows: (all) => all,
  columns: {
    Transaction: ({ transactionId: id, legacyTransactionId: legacy }) =>
      ui.linked(legacy, 'history', { kind: 'transaction', id: id ?? legacy }),
    ...ui.own('timeOfEvent', 'stateName'),
    Program: ({ programId: id }) => ui.linked(id, 'history', { kind: 'program', id }),
    ...ui.own('siteName', 'orderValue'),
    Commission: ({ publisherCommission }) => publisherCommission,
    Currency: ({ currencyId }) => currencyId,
  },
});

/** Statuses that operators decide. */
const AT_NETWORK = [100, 105];

export const claims = listPage({
  page: ['claims', 'Claims', 'The oldest first', 'No claims.'],
  from: [networkClaimOperations.listNetworkClaims, '/ops/1.0/claims', 'offset'],
  fields: [
    ...[ui.line('claimId', 'Id'), ui.line('programId', 'Program')],
    ui.several('statusId', 'Statuses (100,105 if none is given)'),
  ],
  rows: (all) => all,
  columns: {
    Claim: ({ claimId: id }) => ui.linked(id, 'history', { kind: 'claim', id }),
    Filed: ({ timeStamp }) => timeStamp,
    Status: ({ statusName, statusId }) => `${statusName} (${statusId})`,
    ...ui.own('programName', 'siteName', 'orderNumber', 'orderValue'),
    Decision: ({ claimId, versionNo, statusId }) =>
      AT_NETWORK.includes(statusId) ? ui.linked('decide', 'claim', { claimId, versionNo }) : undefined,
  },
});

/** Statuses by which operators reject (Document 3, Statuses), of those that need no message first. */
const REJECTIONS = ['211', '111', '201'] as const;

const CLAIM = '/ops/1.0/claims/:claimId';

const RELEASED = 'Claim :claimId awaits the approval of its advertiser.';

const DECISIONS = {
  release: ui.action('Release to its advertiser', `${CLAIM}/release`, ['versionNo'], RELEASED),
  reject: ui.action(
    'Reject',
    `${CLAIM}/reject`,
    ['versionNo', 'statusId', 'message'],
    'Claim :claimId is rejected.',
    {
      fields: [
        { ...ui.required('statusId', 'With status'), choices: REJECTIONS.map((id) => [id, id] as const) },
        ui.line('message', 'Message for its publisher; 111 and 201 need one'),
      ],
    },
  ),
};

export const claim: ui.ConsolePage = {
  ...{ name: 'claim', title: 'Decide a claim', actions: DECISIONS },
  fields: [ui.required('claimId', 'Id'), ui.required('versionNo', 'Version')],
  sections: (operator, { claimId = '', versionNo = '' }) => [
    ui.section('claim', `Claim ${claimId}`, async () => [
      await claims.part(operator, { claimId }),
      ui.form(DECISIONS, 'release', { claimId, versionNo }),
      ui.form(DECISIONS, 'reject', { claimId, versionNo }),
    ]),
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
    ...[
      { ...ui.required('kind', 'What'), choices: Object.entries(QUESTIONS) },
      ui.line('feedId', 'Feed, of a product'),
    ],
    ui.required('id', 'Its id; of a message also transactionId or claimId'),
    ui.line('publisher', 'As this publisher (organisation) sees it'),
  ],
  sections: (operator, asked) => [
    ui.section('why', `${asked['kind']} ${asked['id']}`, () =>
      asked['kind'] === 'delivery' ? explained(operator, asked) : visibility(operator, asked),
    ),
  ],
};

async function explained(operator: Operator, { id }: ui.Asked): Promise<ui.Bodies> {
  const { lines } = await operator.get(whyOperations.whyDelivery, '/ops/1.0/why/delivery', { id });
  const messages = new Set(lines.join('\n').match(/msg_\w+/g));
  return [
    ui.links(...[...messages].map((one) => ui.linked(`message ${one}`, 'message', { id: one }))),
    { is: 'text', text: lines.join('\n') },
  ];
}

async function visibility(
  operator: Operator,
  { kind, feedId: fid, id, publisher }: ui.Asked,
): Promise<ui.Bodies> {
  const isProduct = kind === 'product';
  const { visible, conditions } = isProduct
    ? await operator.get(whyOperations.whyProduct, '/ops/1.0/why/product', { fid, spId: id, publisher })
    : await operator.get(whyOperations.whyVoucher, '/ops/1.0/why/voucher', { id, publisher });
  return [
    ui.facts({ Seen: ui.yes(visible) }),
    ui.table(conditions, '', {
      ...ui.own('condition'),
      Holds: ({ holds }) => ui.yes(holds),
      'What it depends on': ({ found }) => found,
      'What helps': ({ remedy }) => remedy,
    }),
    ui.links(
      ui.linked('history', 'history', { kind, feedId: fid, id }),
      isProduct && ui.linked('mappings of its feed', 'mappings', { fid }),
      isProduct && ui.linked('loads of its feed', 'loads', { fid }),
    ),
  ];
}
