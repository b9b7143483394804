import { offerId, productIn } from '../../domain/products/offer';
import { numberOf, type RecordedEvent } from '../../kernel/event';
import { isObject } from '../../kernel/values';
import { HISTORY_KINDS } from '../../operations/history/subjects';
import { historyOperations } from '../../operations/rest/history.controller';
import { logOperations } from '../../operations/rest/log.controller';
import { notificationOperations } from '../../operations/rest/notifications.controller';
import { serverOperations } from '../../operations/rest/server.controller';
import { sqlOperations } from '../../operations/rest/sql.controller';
import * as ui from '../content';
import { ifThere, type Operator, Refused, TOO_LARGE } from '../operator';

/** As `toLine` writes it. */
type EventLine = Omit<RecordedEvent, 'data' | 'meta'> & {
  readonly meta: object;
  readonly data: Readonly<Record<string, unknown>> & { readonly at?: string };
};

const KINDS = ['product', ...HISTORY_KINDS] as const;

/** Things by what the names of their streams, and of the fields with their ids, begin with. */
const SUBJECTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(HISTORY_KINDS.map((kind) => [kind, kind])),
  ...{ feedinfo: 'feed', mapping: 'feed', feedrefusals: 'feed', deliveryrequests: 'subscription' },
};

/** Links to all that data names by ids, within objects too; `fid` is the feed of its products and loads. */
function references(data: Readonly<Record<string, unknown>>, feed?: string): readonly ui.Value[] {
  const { feedId: own } = data;
  const fid = feed ?? (typeof own === 'number' ? String(own) : '');
  const found = Object.entries(data).flatMap(([name, value]): readonly ui.Value[] => {
    if (isObject(value) && !Array.isArray(value)) return references(value, fid);
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    const id = String(value);
    const kind = SUBJECTS[name.replace(/Id$/, '')];
    if (name.endsWith('Id') && kind !== undefined) return [ui.thing(kind, id)];
    if (name === 'organisationId') return [ui.linked(`organisation ${id}`, 'tokens', { organisationId: id })];
    if (/^msg_\w+$/.test(id)) return [ui.linked(`message ${id}`, 'message', { messageId: id })];
    if (fid === '') return [];
    if (name === 'sourceProductId') return [ui.product(fid, id, `product ${id}`)];
    return ['importId', 'restores'].includes(name)
      ? [ui.linked(`load ${id}`, 'load', { feedId: fid, loadId: id })]
      : [];
  });
  return [...new Map(found.map((one) => [one.to, one])).values()];
}

const EVENTS = 50;

export const log: ui.ConsolePage = {
  ...{ name: 'log', title: 'Event log' },
  fields: ui.lines(
    {},
    { stream: 'Stream begins with', type: 'Type', since: 'Since', until: 'Until', after: 'After position' },
  ),
  sections: [
    ui.section('events', 'Events', async (operator, asked) => {
      // Whoever follows the log gets no end.
      const values = { ...asked, follow: undefined, limit: EVENTS };
      const events = await operator.lines<EventLine>(logOperations.readLog, values);
      const next = { ...asked, after: events.at(-1)?.position };
      return [
        ui.table(events, 'No such events.', {
          Position: ({ position }) => ui.linked(numberOf(position), 'event', { position }),
          Time: ({ data }) => data.at,
          Type: (one) => ui.linked(one.type, 'log', { ...asked, type: one.type, after: undefined }),
          Stream: (one) => ui.linked(one.stream, 'log', { stream: one.stream }),
          Data: ({ data }) => ui.short(data),
        }),
        events.length === EVENTS && ui.links(ui.linked('Next', 'log', next)),
      ];
    }),
  ],
};

export const event: ui.ConsolePage = {
  ...{ name: 'event', title: 'Event' },
  fields: ui.lines({ position: 'Position' }),
  sections: [
    ui.section('event', 'Event', eventBodies),
    ui.section('documents', 'Documents that it is folded into', (operator, { position = '' }) =>
      documents(operator, position),
    ),
  ],
};

async function eventBodies(operator: Operator, { position = '' }: ui.Asked): Promise<ui.Bodies> {
  const after = /^0*[1-9]\d{0,18}$/.test(position) ? String(BigInt(position) - 1n) : position;
  const [found] = await operator.lines<EventLine>(logOperations.readLog, { after, limit: 1 });
  if (found === undefined || numberOf(found.position) !== numberOf(position))
    return ui.problem(`No event is at position ${position}.`);
  const { stream, type, revision, id, data, meta } = found;
  const [, category = '', subject = ''] = /^([a-z]+)-(.+)$/.exec(stream) ?? [];
  const kind = SUBJECTS[category];
  return [
    ui.facts({
      type: ui.linked(type, 'log', { type }),
      stream: ui.linked(stream, 'log', { stream }),
      ...{ revision, time: data.at, id },
    }),
    ui.links(
      kind && ui.thing(kind, subject),
      ...references({ ...data, meta }, kind === 'feed' ? subject : undefined),
      ui.linked('events after it', 'log', { after: found.position }),
    ),
    ui.json(data),
    Object.keys(meta).length > 0 && ui.json(meta),
  ];
}

async function documents(operator: Operator, position: string): Promise<ui.Body> {
  const found = await operator.get(serverOperations.listDocuments, { position });
  return ui.table(found, 'In no document of a read model.', {
    'Read model': ({ readModel }) => ui.linked(readModel, 'read-model', { name: readModel }),
    Document: ({ readModel, id }) => ui.linked(id, 'document', { readModel, id }),
    'As it is now': ({ document: now }) =>
      now === undefined ? { text: 'none', tone: 'quiet' } : ui.short(now),
  });
}

export const document: ui.ConsolePage = {
  ...{ name: 'document', title: 'Document of a read model' },
  fields: ui.lines({ readModel: 'Read model', id: 'Id' }),
  sections: [ui.section('document', ({ id = '' }) => id, documentBodies)],
};

async function documentBodies(operator: Operator, { readModel = '', id = '' }: ui.Asked): Promise<ui.Bodies> {
  const [one] = await operator.get(serverOperations.listDocuments, { readModel, id });
  const { document: now } = one ?? {};
  // Read models of things that have a history have their ids.
  const kind = SUBJECTS[readModel.replace(/s$/, '')];
  return [
    ui.links(
      ui.linked(`read model ${readModel}`, 'read-model', { name: readModel }),
      kind && ui.thing(kind, id),
      readModel === 'deliveries' && ui.linked('its message', 'message', { messageId: id }),
      ...references({ ...now }),
    ),
    now === undefined ? ui.problem(`${readModel} has no document ${id}.`) : ui.json(now),
  ];
}

export const history: ui.ConsolePage = {
  ...{ name: 'history', title: 'History' },
  fields: [
    { ...ui.required('kind', 'Of a'), choices: KINDS.map((kind) => [kind, kind]) },
    ...ui.lines({}, { feedId: 'Feed, of a product' }),
    ...ui.lines(
      { id: 'Id, or order number' },
      { at: 'As it was at (time)', diff: 'Difference (two versions: 1,2)' },
    ),
  ],
  sections: [ui.section('history', ({ kind, feedId = '', id }) => `${kind} ${feedId} ${id}`, historyBodies)],
};

/** The entries of a page, and one more if others follow: one by one if they are long. */
async function entriesOf(operator: Operator, asked: ui.Asked, size = EVENTS) {
  const { kind, id, at, diff } = asked;
  const values = { ...asked, ...((at ?? diff) === undefined && { limit: size + 1 }), sourceProductId: id };
  const { getHistory, getProductHistory } = historyOperations;
  try {
    return {
      size,
      entries: await operator.get(kind === 'product' ? getProductHistory : getHistory, values),
    };
  } catch (error) {
    if (size === 1 || !(error instanceof Refused && error.status === TOO_LARGE)) throw error;
    return await entriesOf(operator, asked, 1);
  }
}

/** Pages that say more of a thing, by its kind. */
const RELATED: Readonly<Record<string, (id: string, feedId?: string) => readonly ui.Value[]>> = {
  product: (id, feedId) => [
    ui.linked('who sees it, and why not', 'why', { kind: 'product', feedId, id }),
    ui.linked('why messages were sent, or not', 'why', { kind: 'delivery', id: `${feedId}-${id}` }),
  ],
  voucher: (id) => [ui.linked('who sees it, and why not', 'why', { kind: 'voucher', id })],
  transaction: (id) => [ui.linked('why messages were sent, or not', 'why', { kind: 'delivery', id })],
  claim: (id) => [ui.linked('why messages were sent, or not', 'why', { kind: 'delivery', id })],
  subscription: (subscriptionId) => [
    ui.linked('messages', 'messages', { subscriptionId }),
    ui.linked('receivers', 'receivers', { subscriptionId }),
  ],
};

async function historyBodies(operator: Operator, asked: ui.Asked): Promise<ui.Bodies> {
  const { kind = '', feedId, id = '' } = asked;
  const { size, entries: found } = await entriesOf(operator, asked);
  const entries = found.slice(0, size);
  const last = entries.at(-1);
  const next = { ...asked, after: String(last?.version) };
  return [
    kind === 'product' && (await plot(operator, Number(feedId), id)),
    kind === 'feed' && ui.feedLinks(id),
    ui.links(...(RELATED[kind]?.(id, feedId) ?? []), ...references({ ...last?.state }, feedId)),
    ui.table(entries, 'Nothing happened to it.', {
      ...ui.own('version', 'time'),
      Event: ({ event: type = 'difference', position }) =>
        position === undefined ? type : ui.linked(type, 'event', { position }),
      By: ({ by }) => by?.replaceAll(' ', '\u00a0'),
      Changes: ({ problem, changes }) => problem ?? changesText(changes),
    }),
    found.length > size && ui.links(ui.linked('Next', 'history', next)),
    last?.state && ui.json(last.state),
    last?.position && (await documents(operator, last.position)),
  ];
}

/** All prices of a product, as its read model has them. */
async function plot(operator: Operator, feedId: number, id: string): Promise<ui.Body | undefined> {
  const keys = { readModel: 'price-history', id: offerId(feedId, id) };
  const [found] = await operator.get(serverOperations.listDocuments, keys);
  const { prices = [] } = (found?.document ?? {}) as {
    readonly prices?: readonly (readonly [number, number, string, string?])[];
  };
  if (prices.length < 2) return undefined;
  const points = prices.map(([price, since]) => [since, price / 100] as const);
  return { is: 'plot', label: `Price, ${prices.at(-1)?.[3] ?? ''}`, points };
}

function changesText(changes: object): string {
  const all = Object.entries(
    changes as Readonly<Record<string, Readonly<Record<'after' | 'before', unknown>>>>,
  );
  const after = (value: unknown): string => (value === undefined ? 'removed' : ui.short(value));
  return all
    .map(
      ([name, one]) =>
        `${name}: ${one.before === undefined ? '' : `${ui.short(one.before)} → `}${after(one.after)}`,
    )
    .join('; ');
}

/** Whatever has an id. */
export const find: ui.ConsolePage = {
  ...{ name: 'find', title: 'Find by id' },
  sections: [ui.section('found', ({ id = '' }) => id, foundBodies)],
};

async function foundBodies(operator: Operator, { id = '' }: ui.Asked): Promise<ui.Bodies> {
  const histories = HISTORY_KINDS.map(async (kind) => {
    const one = await ifThere(operator.get(historyOperations.getHistory, { kind, id, limit: 1 }));
    return one && ui.thing(kind, id);
  });
  const sent = await ifThere(operator.get(notificationOperations.getAnyDelivery, { messageId: id }));
  return [
    ui.links(
      ...(await Promise.all(histories)),
      await productNamed(operator, id),
      sent && ui.linked(`message ${id}`, 'message', { messageId: id }),
    ),
    ui.links(
      ui.linked('streams that begin with it', 'log', { stream: id }),
      /^\d{1,19}$/.test(id) && ui.linked('event at this position', 'event', { position: id }),
    ),
  ];
}

/** A product by its id in messages (`<feedId>-<sourceProductId>`), or by that of its offer in searches. */
async function productNamed(operator: Operator, id: string): Promise<ui.Value | undefined> {
  const { feedId: feed = NaN, sourceProductId: own = '' } = productIn(id) ?? {};
  const documents = { products: id, 'price-history': offerId(feed, own) };
  for (const [readModel, one] of Object.entries(documents)) {
    const [found] = await operator.get(serverOperations.listDocuments, { readModel, id: one });
    const { feedId, sourceProductId = own } = (found?.document ?? {}) as Readonly<Record<string, string>>;
    if (feedId !== undefined) return ui.product(feedId, sourceProductId, `product ${sourceProductId}`);
  }
  return undefined;
}

const ROWS = 1_000;

export const sql: ui.ConsolePage = {
  ...{ name: 'sql', title: 'SQL' },
  fields: [{ ...ui.required('q', 'Statement that reads, such as SHOW TABLES'), isLong: true }],
  sections: [
    ui.section('rows', 'Rows', async (operator, { q }) => {
      const rows = await operator.lines<Readonly<Record<string, unknown>>>(sqlOperations.askSql, { q });
      const shown = rows.slice(0, ROWS);
      const names = [...new Set(shown.flatMap((row) => Object.keys(row)))];
      const columns = names.map(
        (name) => [name, (row: (typeof rows)[number]) => ui.plain(name, sqlCell(row[name]))] as const,
      );
      return [
        ui.table(shown, 'No rows.', Object.fromEntries(columns)),
        rows.length > ROWS && ui.problem(`These are ${ROWS} of ${rows.length} rows.`),
      ];
    }),
  ],
};

function sqlCell(value: unknown): ui.Cell {
  return typeof value === 'number' || typeof value === 'boolean' || value === null
    ? value
    : ui.short(value ?? '–');
}
