import { offerId } from '../../domain/products/offer';
import { type RecordedEvent } from '../../kernel/event';
import { isObject } from '../../kernel/unknown';
import { HISTORY_KINDS } from '../../operations/history/subjects';
import { historyOperations } from '../../operations/rest/history.controller';
import { notificationOperations } from '../../operations/rest/notifications.controller';
import { serverOperations } from '../../operations/rest/server.controller';
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

const historyLink = (kind: string, id: string, feedId?: string): ui.Value =>
  ui.linked(`${kind} ${id}`, 'history', { kind, feedId, id });

/** Links to all that data names by ids, within objects too; `fid` is the feed of its products and loads. */
function references(data: Readonly<Record<string, unknown>>, feed?: string): readonly ui.Value[] {
  const { feedId: own } = data;
  const fid = feed ?? (typeof own === 'number' ? String(own) : '');
  const found = Object.entries(data).flatMap(([name, value]): readonly ui.Value[] => {
    if (isObject(value) && !Array.isArray(value)) return references(value, fid);
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    const id = String(value);
    const kind = SUBJECTS[name.replace(/Id$/, '')];
    if (name.endsWith('Id') && kind !== undefined) return [historyLink(kind, id)];
    if (name === 'organisationId') return [ui.linked(`organisation ${id}`, 'tokens', { organisationId: id })];
    if (/^msg_\w+$/.test(id)) return [ui.linked(`message ${id}`, 'message', { id })];
    if (fid === '') return [];
    if (name === 'sourceProductId') return [historyLink('product', id, fid)];
    return ['importId', 'restores'].includes(name) ? [ui.linked(`load ${id}`, 'load', { fid, id })] : [];
  });
  return [...new Map(found.map((one) => [one.to, one])).values()];
}

const PATH = '/ops/1.0/log';
const EVENTS = 50;

export const log: ui.ConsolePage = {
  ...{ name: 'log', title: 'Event log' },
  fields: [
    ...[ui.line('stream', 'Stream begins with'), ui.line('type', 'Type'), ui.line('since', 'Since')],
    ...[ui.line('until', 'Until'), ui.line('after', 'After position')],
  ],
  sections: (operator, asked) => [
    ui.section('events', 'Events', async () => {
      const { stream, type, since, until, after } = asked;
      const keys = { stream, type, since, until, after, limit: EVENTS };
      const events = await operator.lines<EventLine>(PATH, keys);
      const next = { ...asked, after: events.at(-1)?.position };
      return [
        ui.table(events, 'No such events.', {
          Position: ({ position }) => ui.linked(String(BigInt(position)), 'event', { position }),
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
  fields: [ui.required('position', 'Position')],
  sections: (operator, { position = '' }) => [
    ui.section('event', 'Event', async () => {
      const after = /^0*[1-9]\d{0,18}$/.test(position) ? String(BigInt(position) - 1n) : position;
      const [found] = await operator.lines<EventLine>(PATH, { after, limit: 1 });
      if (found === undefined || BigInt(found.position) !== BigInt(position))
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
          kind && historyLink(kind, subject),
          ...references({ ...data, meta }, kind === 'feed' ? subject : undefined),
          ui.linked('events after it', 'log', { after: found.position }),
        ),
        ui.json(data),
        Object.keys(meta).length > 0 && ui.json(meta),
      ];
    }),
    ui.section('documents', 'Documents that it is folded into', () => documents(operator, position)),
  ],
};

const DOCUMENTS = '/ops/1.0/documents';

async function documents(operator: Operator, position: string): Promise<ui.Body> {
  const found = await operator.get(serverOperations.listDocuments, DOCUMENTS, { position });
  return ui.table(found, 'In no document of a read model.', {
    'Read model': ({ readModel }) => ui.linked(readModel, 'read-model', { name: readModel }),
    Document: ({ readModel, id }) => ui.linked(id, 'document', { readModel, id }),
    'As it is now': ({ document: now }) =>
      now === undefined ? { text: 'none', tone: 'quiet' } : ui.short(now),
  });
}

export const document: ui.ConsolePage = {
  ...{ name: 'document', title: 'Document of a read model' },
  fields: [ui.required('readModel', 'Read model'), ui.required('id', 'Id')],
  sections: (operator, { readModel = '', id = '' }) => [
    ui.section('document', id, async () => {
      const [one] = await operator.get(serverOperations.listDocuments, DOCUMENTS, { readModel, id });
      const { document: now } = one ?? {};
      // Read models of things that have a history have their ids.
      const kind = SUBJECTS[readModel.replace(/s$/, '')];
      return [
        ui.links(
          ui.linked(`read model ${readModel}`, 'read-model', { name: readModel }),
          kind && historyLink(kind, id),
          readModel === 'deliveries' && ui.linked('its message', 'message', { id }),
          ...references({ ...now }),
        ),
        now === undefined ? ui.problem(`${readModel} has no document ${id}.`) : ui.json(now),
      ];
    }),
  ],
};

export const history: ui.ConsolePage = {
  ...{ name: 'history', title: 'History' },
  fields: [
    { ...ui.required('kind', 'Of a'), choices: KINDS.map((kind) => [kind, kind]) },
    ...[ui.line('feedId', 'Feed, of a product'), ui.required('id', 'Id, or order number')],
    ...[ui.line('at', 'As it was at (time)'), ui.line('diff', 'Difference (two versions: 1,2)')],
  ],
  sections: (operator, asked) => {
    const { kind, feedId = '', id } = asked;
    if (!KINDS.some((one) => one === kind)) return [];
    return [ui.section('history', `${kind} ${feedId} ${id}`, () => historyBodies(operator, asked))];
  },
};

const HISTORY = '/ops/1.0/history/:kind/:id.json';

/** The entries of a page, and one more if others follow: one by one if they are long. */
async function entriesOf(operator: Operator, asked: ui.Asked, size = EVENTS) {
  const { kind = '', feedId, id, at, diff, after } = asked;
  const points = (at ?? diff) === undefined ? { after, limit: size + 1 } : { at, diff: diff?.split(',') };
  const path = kind === 'product' ? '/ops/1.0/history/product/:feedId/:id.json' : HISTORY;
  const known = kind === 'product' ? { feedId, id } : { kind, id };
  try {
    const entries = await operator.get(historyOperations.getHistory, path, { ...known, ...points });
    return { size, entries };
  } catch (error) {
    if (size === 1 || !(error instanceof Refused && error.status === TOO_LARGE)) throw error;
    return await entriesOf(operator, asked, 1);
  }
}

/** Pages that say more of a thing, by its kind. */
const RELATED: Readonly<Record<string, (id: string, feedId?: string) => readonly ui.Value[]>> = {
  product: (id, feedId) => [ui.linked('who sees it, and why not', 'why', { kind: 'product', feedId, id })],
  voucher: (id) => [ui.linked('who sees it, and why not', 'why', { kind: 'voucher', id })],
  transaction: (id) => [ui.linked('why messages were sent, or not', 'why', { kind: 'delivery', id })],
  claim: (id) => [ui.linked('why messages were sent, or not', 'why', { kind: 'delivery', id })],
  feed: (fid) => [ui.linked('loads', 'loads', { fid }), ui.linked('mappings', 'mappings', { fid })],
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
  const [found] = await operator.get(serverOperations.listDocuments, DOCUMENTS, keys);
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
  sections: (operator, { id = '' }) => [
    ui.section('found', id, async () => {
      const histories = HISTORY_KINDS.map(async (kind) => {
        const keys = { kind, id, limit: 1 };
        const one = await ifThere(operator.get(historyOperations.getHistory, HISTORY, keys));
        return one && historyLink(kind, id);
      });
      const { getAnyDelivery } = notificationOperations;
      const message = await ifThere(operator.get(getAnyDelivery, '/ops/1.0/deliveries/:id', { id }));
      return [
        ui.links(...(await Promise.all(histories)), message && ui.linked(`message ${id}`, 'message', { id })),
        ui.links(
          ui.linked('streams that begin with it', 'log', { stream: id }),
          /^\d{1,19}$/.test(id) && ui.linked('event at this position', 'event', { position: id }),
        ),
      ];
    }),
  ],
};

const ROWS = 1_000;

export const sql: ui.ConsolePage = {
  ...{ name: 'sql', title: 'SQL' },
  fields: [{ ...ui.required('q', 'Statement that reads, such as SHOW TABLES'), isLong: true }],
  sections: (operator, { q }) => [
    ui.section('rows', 'Rows', async () => {
      const rows = await operator.lines<Readonly<Record<string, unknown>>>('/ops/1.0/sql', { q });
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
