import {
  type Action,
  type Asked,
  type Body,
  type Cell,
  type Field,
  type Page,
  section,
  type Table,
  type Value,
} from './content';
import { type Keys, type Operator, Refused } from './operator';
import { linked, pageAddress } from './render';

// What the operations answer, as far as pages show it. ----------------------------------------------------------

interface Health {
  readonly status: string;
  readonly waiting?: Readonly<Record<string, string>>;
  readonly parked?: number;
  readonly behind?: number;
  readonly projector?: string;
  readonly automation?: string;
  readonly notifier?: string;
  readonly unexpectedFailures: number;
}

interface LoggedEvent {
  readonly position: string;
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, unknown>> & { readonly at?: string };
}

interface HistoryEntry {
  readonly version?: number;
  readonly time?: string;
  readonly event?: string;
  readonly by?: string;
  readonly position?: string;
  readonly changes: Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>;
  readonly state?: Readonly<Record<string, unknown>>;
  readonly problem?: string;
}

interface Condition {
  readonly condition: string;
  readonly holds: boolean;
  readonly found: string;
  readonly remedy?: string;
}

interface Claim {
  readonly claimId: number;
  readonly versionNo: number;
  readonly statusId: number;
  readonly statusName: string;
  readonly timeStamp: string;
  readonly programName: string;
  readonly siteName: string;
  readonly orderNumber: string;
  readonly orderValue?: number;
}

interface Delivery {
  readonly messageId: string;
  readonly organisationId: number;
  readonly subscriptionId: string;
  readonly state: string;
  readonly held: boolean;
  readonly attempts?: number;
  readonly time?: string;
  readonly transactionId?: string;
  readonly claimId?: string;
  readonly reason?: string;
  readonly receiverId?: string;
}

interface Receiver {
  readonly organisationId: number;
  readonly subscriptionId: string;
  readonly receiverId: string;
  readonly disabled: boolean;
  readonly restsUntil?: string;
  readonly [name: string]: unknown;
}

interface MappedName {
  readonly feedId: number;
  readonly categoryName: string;
  readonly productCount: number;
  readonly state: string;
  readonly tdCategoryId?: string;
  readonly tdCategoryName?: string;
}

interface Feed {
  readonly feedId: number;
  readonly name: string;
  readonly active: boolean;
  readonly visible: boolean;
  readonly numberOfUnmappedCategories: number;
  readonly numberOfProducts: number;
  readonly lastModifiedTime: string | null;
  readonly programs: readonly { readonly programId: number; readonly name: string }[];
}

interface Token {
  readonly organisationId: number;
  readonly organisation: string;
  readonly system: string;
  readonly siteId?: number;
  readonly fingerprint: string;
  readonly expires?: string;
  readonly isExpired: boolean;
  readonly lastUsed?: string;
}

interface Transaction {
  /** What is shown depends on the state: one of the two is always there. */
  readonly transactionId?: string;
  readonly legacyTransactionId?: string;
  readonly stateName: string;
  readonly timeOfEvent: string;
  readonly changed: string;
  readonly programId: number;
  readonly siteName?: string;
  readonly orderNumber: string;
  readonly orderValue?: number;
  readonly publisherCommission?: number;
  readonly currencyId: string;
}

interface Voucher {
  readonly id: number;
  readonly title: string;
  readonly code: string;
  readonly programName: string;
  readonly startDate?: string;
  readonly endDate?: string;
}

interface Product {
  readonly name: string;
  readonly brand?: string;
  readonly offers: readonly {
    readonly feedId: number;
    readonly sourceProductId: string;
    readonly programName: string;
    readonly price?: number;
  }[];
}

interface Suggested {
  readonly categoryName: string;
  readonly suggestions: readonly {
    readonly categoryId: string;
    readonly path: string;
    readonly score: number;
  }[];
}

interface ListedAction {
  readonly number: number;
  readonly time: string;
  readonly action: string;
  readonly by: string;
  readonly reason?: string;
  readonly asked: readonly { readonly name: string; readonly value: string }[];
  readonly state: string;
  readonly failure?: string;
}

interface ReadModel {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly version: number;
  readonly generation?: number;
  readonly position?: string;
  readonly lagEvents?: number;
  readonly lagSeconds?: number;
  readonly rate: number;
  readonly end?: string;
  readonly bytes: number;
  readonly parked: number;
  readonly generations: readonly {
    readonly number: number;
    readonly version: number;
    readonly state: string;
    readonly position: string;
    readonly bytes: number;
    readonly until?: string;
  }[];
  readonly rebuild?: {
    readonly generation: number;
    readonly isComparison: boolean;
    readonly phase: string;
    readonly events: number;
    readonly total: number;
    readonly rate: number;
    readonly end: string;
    readonly isRunning: boolean;
  };
  readonly failure?: { readonly what: string; readonly reason: string; readonly at: string };
}

interface Verification {
  readonly at: string;
  readonly position: string;
  readonly documents: number;
  readonly sample: number;
  readonly differing: number;
  readonly differences: readonly {
    readonly id: string;
    readonly fields: readonly string[];
    readonly live?: string;
    readonly rebuilt?: string;
  }[];
}

interface AsOf {
  readonly name: string;
  readonly time?: string;
  readonly position?: string;
  readonly expires?: string;
  readonly complete: readonly { readonly name: string; readonly documents: number }[];
  readonly unfinished: readonly string[];
  readonly failure?: string;
}

// Pieces ----------------------------------------------------------------------------------------------------------

/** A time (ISO 8601) to the second, UTC. */
function time(iso: string | undefined): Cell {
  return iso?.replace(/T(\d\d:\d\d:\d\d)(\.\d+)?Z$/, ' $1');
}

const LONG = 300;

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONG ? text : `${text.slice(0, LONG)}…`;
}

function json(value: unknown): Body {
  return { is: 'text', text: JSON.stringify(value, undefined, 2) };
}

const REASON: Field = { name: 'reason', label: 'Why' };

const ORGANISATION: Field = { name: 'publisher', label: 'As publisher (organisation)' };

function choice(asked: Asked, name: string, label: string, choices: readonly string[]): Field {
  return {
    name,
    label,
    value: asked[name],
    choices: [['', 'any'], ...choices.map((one) => [one, one] as const)],
  };
}

function line(asked: Asked, name: string, label: string, isRequired = false): Field {
  return { name, label, value: asked[name], ...(isRequired ? { isRequired: true } : {}) };
}

/** By what streams begin with, the page that says more of what the stream is of. */
function subjectOf({ stream, data }: LoggedEvent): Value | undefined {
  const [, category, id] = /^([a-z]+)-(.+)$/.exec(stream) ?? [];
  const { sourceProductId } = data;
  if (category === 'feed' && typeof sourceProductId === 'string')
    return linked('history', 'history', { kind: 'product', feedId: id, id: sourceProductId });
  const kind =
    { feed: 'feed', feedinfo: 'feed', mapping: 'feed', program: 'program' }[category ?? ''] ?? category;
  return KINDS.includes(kind ?? '') ? linked('history', 'history', { kind, id }) : undefined;
}

const KINDS = ['product', 'voucher', 'transaction', 'claim', 'subscription', 'feed', 'program'];

const STATES: Readonly<Record<string, Value['tone']>> = {
  delivered: 'good',
  done: 'good',
  mapped: 'good',
  dead: 'bad',
  failed: 'bad',
  unmapped: 'bad',
  unfinished: 'waiting',
  held: 'waiting',
  retrying: 'waiting',
  cancelled: 'quiet',
};

function state(text: string): Value {
  const tone = STATES[text];
  return { text, ...(tone === undefined ? {} : { tone }) };
}

/** A link to what follows: the same page with other keys. Undefined if nothing does. */
function nextPage({ name }: Pick<Page, 'name'>, asked: Asked, keys: Asked | undefined): readonly Body[] {
  return keys === undefined ? [] : [{ is: 'links', links: [linked('Next', name, { ...asked, ...keys })] }];
}

/** The key of the next page by number, if this one is full. */
function nextNumber({ page = '1' }: Asked, found: number): Asked | undefined {
  return found < SIZE ? undefined : { page: String(Number(page) + 1) };
}

function nextCursor(next: string | undefined, name = 'cursor'): Asked | undefined {
  return next === undefined ? undefined : { [name]: next };
}

/** With this cursor a list begins, and says how to continue. */
const FIRST = '*';

const SIZE = 100;

// Pages -----------------------------------------------------------------------------------------------------------

const overview: Page = {
  name: 'overview',
  title: 'Overview',
  inMenu: true,
  sections: (operator) => [
    section('health', 'Health', async () => healthBodies(await operator.get<Health>('/health/ready')), true),
    section('behind', 'Read models', () => readModelTable(operator), true),
    section('pending', 'Claims that wait for the network', () => claimTable(operator, { limit: 10 })),
    section('dead', 'Messages that could not be delivered', () =>
      deliveryTable(operator, { state: 'dead', pageSize: 10 }),
    ),
    section('actions', 'What operators have done', () => actionTable(operator, { limit: 10 })),
  ],
};

function healthBodies({ status, waiting = {}, ...rest }: Health): readonly Body[] {
  const troubles = [
    ...Object.entries(waiting),
    ...(['projector', 'automation', 'notifier'] as const).flatMap((role) => {
      const trouble = rest[role];
      return trouble === undefined ? [] : [[role, trouble] as const];
    }),
  ];
  return [
    {
      is: 'facts',
      facts: [
        ['State', { text: status, tone: status === 'ok' ? 'good' : 'bad' }],
        ['Read models behind the log', rest.behind === undefined ? undefined : `${rest.behind} s`],
        [
          'Parked documents',
          rest.parked === undefined || rest.parked === 0
            ? rest.parked
            : { text: String(rest.parked), tone: 'bad' },
        ],
        ['Failures of this process that nobody expected', rest.unexpectedFailures],
      ],
    },
    ...(troubles.length === 0
      ? []
      : [
          {
            is: 'table',
            columns: ['Part', 'What it waits for or suffers from'],
            rows: troubles,
            none: '',
          } as const,
        ]),
  ];
}

const readModels: Page = {
  name: 'read-models',
  title: 'Read models',
  inMenu: true,
  sections: (operator) => [section('read-models', 'All read models', () => readModelTable(operator), true)],
};

async function readModelTable(operator: Operator): Promise<Body> {
  const found = await operator.get<readonly ReadModel[]>('/ops/1.0/projections');
  return {
    is: 'table',
    columns: ['Name', 'State', 'Behind', 'Events/s', 'Generation', 'Size', 'Parked', 'Under way'],
    none: 'There are none.',
    rows: found.map((one) => [
      linked(one.name, 'read-model', { name: one.name }),
      readModelState(one),
      behindText(one),
      one.rate,
      one.generation,
      bytesText(one.bytes),
      one.parked === 0 ? 0 : { text: String(one.parked), tone: 'bad' },
      rebuildText(one),
    ]),
  };
}

function readModelState({ state: is }: ReadModel): Value {
  const tone = is === 'live' ? 'good' : ['degraded', 'failed'].includes(is) ? 'bad' : 'waiting';
  return { text: is, tone };
}

function behindText({ lagEvents, lagSeconds, end }: ReadModel): string {
  if (lagEvents === undefined) return '–';
  const seconds = lagSeconds === undefined ? '' : `, ${lagSeconds} s`;
  return `${lagEvents} events${seconds}${end === undefined ? '' : `, until about ${end}`}`;
}

function bytesText(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function rebuildText({ rebuild, failure }: ReadModel): Value | string {
  if (rebuild === undefined)
    return failure === undefined
      ? ''
      : { text: `the last ${failure.what} failed: ${failure.reason}`, tone: 'bad' };
  const { isComparison, phase, events, total, end, isRunning } = rebuild;
  const what = isComparison ? 'comparison' : 'rebuild';
  const share = Math.floor((100 * events) / Math.max(1, total));
  return isRunning
    ? `${what}: ${phase}, ${Math.min(100, share)} %, until about ${end}`
    : { text: `${what} was interrupted: begin it again`, tone: 'waiting' };
}

/** What is done with a read model, by the operation. */
const READ_MODEL_ACTIONS = {
  pause: ['Pause', 'is paused'],
  resume: ['Resume', 'follows the log again'],
  rebuild: ['Rebuild', 'is being rebuilt'],
  verify: ['Compare with the log', 'is being compared with what the log says'],
  swap: ['Make live what is ready', 'has another generation now'],
  rollback: ['Roll back', 'has its former generation again'],
  discard: ['Drop what is beside it', 'has its live generation only'],
} as const;

const readModel: Page = {
  name: 'read-model',
  title: 'Read model',
  inMenu: false,
  fields: (asked) => [line(asked, 'name', 'Name', true)],
  sections: (operator, { name }) =>
    name === undefined
      ? []
      : [
          section('state', `State of ${name}`, () => readModelBodies(operator, name), true),
          section('comparison', 'The last comparison with the log', () => comparison(operator, name)),
          section('change', 'Change', async () => changesOf(name)),
        ],
  actions: Object.fromEntries(
    Object.entries(READ_MODEL_ACTIONS).map(([verb, [, done]]) => [
      verb,
      async (operator: Operator, { name = '', reason, force }: Asked) => {
        const recorded = verb === 'verify' ? {} : { reason, force };
        await operator.change('POST', `/ops/1.0/projections/${verb}`, { name, ...recorded });
        return `${name} ${done}.`;
      },
    ]),
  ),
};

async function readModelBodies(operator: Operator, name: string): Promise<readonly Body[]> {
  const [one] = await operator.get<readonly ReadModel[]>('/ops/1.0/projections', { name });
  if (one === undefined) return [{ is: 'problem', text: `There is no read model ${name}.` }];
  return [
    {
      is: 'facts',
      facts: [
        ['State', readModelState(one)],
        ['Why', one.reason],
        ['Behind the log', behindText(one)],
        ['Position', one.position],
        ['Version', one.version],
        ['Parked', one.parked],
        ['Under way', rebuildText(one)],
      ],
    },
    {
      is: 'table',
      columns: ['Generation', 'State', 'Version', 'Position', 'Size', 'Dropped'],
      none: 'It has no generation.',
      rows: one.generations.map((each) => [
        each.number,
        each.state,
        each.version,
        each.position,
        bytesText(each.bytes),
        time(each.until),
      ]),
    },
  ];
}

async function comparison(operator: Operator, name: string): Promise<readonly Body[]> {
  const found = await operator
    .get<Verification>('/ops/1.0/projections/verification', { name })
    .catch((error: unknown) => {
      if (error instanceof Refused && error.status === 404) return undefined;
      throw error;
    });
  if (found === undefined) return [{ is: 'text', text: 'It was not compared yet.' }];
  return [
    {
      is: 'facts',
      facts: [
        ['When', time(found.at)],
        ['Documents', found.documents],
        ['Compared', found.sample === 1 ? 'all' : `one of ${found.sample}`],
        ['That differ', { text: String(found.differing), tone: found.differing === 0 ? 'good' : 'bad' }],
      ],
    },
    {
      is: 'table',
      columns: ['Document', 'Fields', 'Live', 'By the log'],
      none: 'No document differs.',
      rows: found.differences.map(({ id, fields, live, rebuilt }) => [
        id,
        fields.join(', '),
        live === undefined ? 'missing' : short(live),
        rebuilt === undefined ? 'missing' : short(rebuilt),
      ]),
    },
  ];
}

function changesOf(name: string): readonly Body[] {
  return Object.entries(READ_MODEL_ACTIONS).map(([verb, [label]]): Action => ({
    is: 'action',
    name: verb,
    label,
    known: { name },
    fields: [
      ...(verb === 'verify' ? [] : [REASON]),
      ...(['rebuild', 'swap', 'rollback'].includes(verb) ? [FORCE] : []),
    ],
  }));
}

const FORCE: Field = {
  name: 'force',
  label: 'Despite what is parked or differs',
  choices: [
    ['', 'no'],
    ['true', 'yes'],
  ],
};

const EVENTS = 50;

const log: Page = {
  name: 'log',
  title: 'Log',
  inMenu: true,
  fields: (asked) => [
    line(asked, 'stream', 'Stream begins with'),
    line(asked, 'type', 'Type of events'),
    line(asked, 'since', 'Since'),
    line(asked, 'until', 'Until'),
    line(asked, 'after', 'After position'),
  ],
  sections: (operator, asked) => [
    section('events', 'Events', async () => {
      const { stream, type, since, until, after } = asked;
      const keys = { stream, type, since, until, after, limit: EVENTS };
      const events = await operator.lines<LoggedEvent>('/ops/1.0/log', keys);
      const last = events.at(-1);
      return [
        {
          is: 'table',
          columns: ['Position', 'Time', 'Type', 'Stream', 'Data'],
          none: 'No such events.',
          rows: events.map(({ position, data, type: of, stream: in_ }) => [
            linked(String(BigInt(position)), 'event', { position }),
            time(data.at),
            linked(of, 'log', { ...asked, type: of, after: undefined }),
            linked(in_, 'log', { stream: in_ }),
            short(data),
          ]),
        },
        ...(last === undefined || events.length < EVENTS
          ? []
          : [{ is: 'links', links: [linked('Next', 'log', { ...asked, after: last.position })] } as const]),
      ];
    }),
  ],
};

const event: Page = {
  name: 'event',
  title: 'Event',
  inMenu: false,
  fields: (asked) => [line(asked, 'position', 'Position', true)],
  sections: (operator, { position = '' }) => [
    section('event', 'Event', async () => {
      const after = /^\d{1,19}$/.test(position) ? String(BigInt(position) - 1n).padStart(19, '0') : position;
      const [found] = await operator.lines<LoggedEvent>('/ops/1.0/log', { after, limit: 1 });
      if (found === undefined || BigInt(found.position) !== BigInt(position))
        return { is: 'problem', text: `No event is at position ${position}.` };
      const subject = subjectOf(found);
      return [
        {
          is: 'facts',
          facts: [
            ['Type', found.type],
            ['Stream', linked(found.stream, 'log', { stream: found.stream })],
            ['Revision', found.revision],
            ['Time', time(found.data.at)],
            ['Id', found.id],
            ['What it is about', subject],
          ],
        },
        json(found.data),
        ...(Object.keys(found.meta).length === 0 ? [] : [json(found.meta)]),
        { is: 'links', links: [linked('Events after it', 'log', { after: found.position })] },
      ];
    }),
  ],
};

const history: Page = {
  name: 'history',
  title: 'History',
  inMenu: true,
  fields: (asked) => [
    { name: 'kind', label: 'Of a', value: asked['kind'] ?? '', choices: KINDS.map((kind) => [kind, kind]) },
    line(asked, 'feedId', 'Feed (of a product)'),
    line(asked, 'id', 'Id, or order number', true),
    line(asked, 'at', 'As it was at (time)'),
    line(asked, 'diff', 'Difference (two versions: 1,2)'),
  ],
  sections: (operator, asked) => {
    const { kind, feedId, id, at, diff } = asked;
    if (!KINDS.includes(kind ?? '') || kind === undefined || id === undefined) return [];
    const path = kind === 'product' ? [kind, feedId ?? '', id] : [kind, id];
    const address = `/ops/1.0/history/${path.map(encodeURIComponent).join('/')}.json`;
    const points = { at, diff: diff?.split(',') };
    return [
      section('history', `${kind} ${feedId === undefined ? '' : `${feedId} `}${id}`, async () =>
        historyBodies(await operator.get<readonly HistoryEntry[]>(address, points), asked),
      ),
    ];
  },
};

function historyBodies(entries: readonly HistoryEntry[], { kind, feedId, id }: Asked): readonly Body[] {
  const points = entries.flatMap(({ time: iso, state: then }) => {
    const price = Number(then?.['price']);
    return iso === undefined || !Number.isFinite(price) ? [] : [[Date.parse(iso), price] as const];
  });
  const last = entries.at(-1)?.state;
  return [
    ...(kind === 'product' && points.length > 1
      ? [{ is: 'plot', label: `Price, ${short(last?.['currency'] ?? '')}`, points } as const]
      : []),
    {
      is: 'links',
      links: [
        ...(kind === 'product' ? [linked('Who sees it, and why', 'why', { kind, feedId, id })] : []),
        ...(kind === 'voucher' ? [linked('Who sees it, and why', 'why', { kind, id })] : []),
        ...(kind === 'transaction' || kind === 'claim'
          ? [linked('Why messages were sent, or not', 'why', { kind: 'delivery', id })]
          : []),
      ],
    },
    {
      is: 'table',
      columns: ['Version', 'Time', 'Event', 'By', 'Changes'],
      none: 'Nothing has happened to it.',
      rows: entries.map((one) => [
        one.version,
        time(one.time),
        one.position === undefined
          ? one.event
          : linked(one.event ?? one.position, 'event', { position: one.position }),
        one.by,
        one.problem ?? changesText(one.changes),
      ]),
    },
    ...(last === undefined ? [] : [json(last)]),
  ];
}

function changesText(changes: HistoryEntry['changes']): string {
  return Object.entries(changes)
    .map(([name, { before, after }]) => {
      if (before === undefined) return `${name}: ${short(after)}`;
      return `${name}: ${short(before)} → ${after === undefined ? 'removed' : short(after)}`;
    })
    .join('; ');
}

const why: Page = {
  name: 'why',
  title: 'Why?',
  inMenu: true,
  fields: (asked) => [
    {
      name: 'kind',
      label: 'What',
      value: asked['kind'] ?? '',
      choices: [
        ['product', 'is a product seen'],
        ['voucher', 'is a voucher seen'],
        ['delivery', 'was a message sent'],
      ],
    },
    line(asked, 'feedId', 'Feed (of a product)'),
    line(asked, 'id', 'Id of it; of a message also transactionId or claimId', true),
    { ...ORGANISATION, value: asked['publisher'] },
  ],
  sections: (operator, { kind, feedId, id, publisher }) => {
    if (kind === undefined || id === undefined || id === '') return [];
    if (kind === 'delivery')
      return [
        section('why', `Messages about ${id}`, async () => {
          const { lines } = await operator.get<{ readonly lines: readonly string[] }>(
            '/ops/1.0/why/delivery',
            { id },
          );
          return { is: 'text', text: lines.join('\n') };
        }),
      ];
    const keys: Keys = kind === 'product' ? { fid: feedId, spId: id, publisher } : { id, publisher };
    return [
      section('why', `${kind} ${id}`, async () => {
        const { visible, conditions } = await operator.get<{
          readonly visible: boolean;
          readonly conditions: readonly Condition[];
        }>(`/ops/1.0/why/${kind === 'product' ? 'product' : 'voucher'}`, keys);
        return [
          {
            is: 'facts',
            facts: [['Seen', visible ? { text: 'yes', tone: 'good' } : { text: 'no', tone: 'bad' }]],
          },
          {
            is: 'table',
            columns: ['Condition', 'Holds', 'What it depends on', 'What helps'],
            none: '',
            rows: conditions.map(({ condition, holds, found, remedy }) => [
              condition,
              holds ? { text: 'yes', tone: 'good' } : { text: 'no', tone: 'bad' },
              found,
              remedy ?? '',
            ]),
          },
          { is: 'links', links: [linked('Its history', 'history', { kind, feedId, id })] },
        ];
      }),
    ];
  },
};

const feeds: Page = {
  name: 'feeds',
  title: 'Feeds',
  inMenu: true,
  sections: (operator) => [
    section('feeds', 'All feeds', async () => {
      const found = await operator.get<{ readonly feeds: readonly Feed[] }>('/ops/1.0/feeds');
      return {
        is: 'table',
        columns: ['Feed', 'Name', 'Programs', 'Active', 'Visible', 'Products', 'Unmapped', 'Changed', ''],
        none: 'The network has no feeds.',
        rows: found.feeds.map((one) => [
          linked(String(one.feedId), 'history', { kind: 'feed', id: one.feedId }),
          one.name,
          one.programs.map(({ programId, name }) => `${name} (${programId})`).join(', '),
          one.active ? true : { text: 'no', tone: 'bad' },
          one.visible ? true : { text: 'no', tone: 'bad' },
          one.numberOfProducts,
          one.numberOfUnmappedCategories,
          time(one.lastModifiedTime?.replace(/\+0000$/, 'Z')) ?? 'never loaded',
          linked('mappings', 'mappings', { fid: one.feedId }),
        ]),
      };
    }),
  ],
};

const products: Page = {
  name: 'products',
  title: 'Products',
  inMenu: true,
  fields: (asked) => [
    { ...line(asked, 'publisher', 'As publisher (organisation) sees them', true) },
    line(asked, 'fid', 'Feeds', true),
    line(asked, 'q', 'Words'),
    line(asked, 'asOf', 'As of (name)'),
  ],
  sections: (operator, asked) => {
    const { publisher, fid, q, asOf, page } = asked;
    if (publisher === undefined || fid === undefined) return [];
    return [
      section('products', 'Products', async () => {
        const keys = { publisher, fid: fid.split(','), q, asOf, page, pageSize: SIZE };
        const { products: found } = await operator.get<{ readonly products: readonly Product[] }>(
          '/ops/1.0/products',
          keys,
        );
        return [
          {
            is: 'table',
            columns: ['Product', 'Name', 'Brand', 'Program', 'Price', ''],
            none: 'None that this publisher sees.',
            rows: found.flatMap(({ name, brand, offers }) =>
              offers.map(({ feedId, sourceProductId: id, programName, price }) => [
                linked(`${feedId} ${id}`, 'history', { kind: 'product', feedId, id }),
                name,
                brand ?? '',
                programName,
                price,
                linked('why?', 'why', { kind: 'product', feedId, id, publisher }),
              ]),
            ),
          },
          ...nextPage(products, asked, nextNumber(asked, found.length)),
        ];
      }),
    ];
  },
};

const vouchers: Page = {
  name: 'vouchers',
  title: 'Vouchers',
  inMenu: true,
  fields: (asked) => [
    line(asked, 'publisher', 'As publisher (organisation) sees them', true),
    line(asked, 'keywords', 'Words'),
    line(asked, 'asOf', 'As of (name)'),
  ],
  sections: (operator, asked) => {
    const { publisher, keywords, asOf, page } = asked;
    if (publisher === undefined) return [];
    return [
      section('vouchers', 'Vouchers', async () => {
        const keys = { publisher, keywords, asOf, page, pageSize: SIZE, dateOutputFormat: 'iso8601' };
        const found = await operator.get<readonly Voucher[]>('/ops/1.0/vouchers', keys);
        return [
          {
            is: 'table',
            columns: ['Voucher', 'Title', 'Code', 'Program', 'From', 'To', ''],
            none: 'None that this publisher sees.',
            rows: found.map(({ id, title, code, programName, startDate, endDate }) => [
              linked(String(id), 'history', { kind: 'voucher', id }),
              title,
              code,
              programName,
              time(startDate),
              time(endDate),
              linked('why?', 'why', { kind: 'voucher', id, publisher }),
            ]),
          },
          ...nextPage(vouchers, asked, nextNumber(asked, found.length)),
        ];
      }),
    ];
  },
};

const transactions: Page = {
  name: 'transactions',
  title: 'Transactions',
  inMenu: true,
  fields: (asked) => [
    line(asked, 'orderNumber', 'Order number'),
    line(asked, 'programId', 'Program'),
    line(asked, 'messageTypeId', 'States (ids)'),
    line(asked, 'asOf', 'As of (name)'),
  ],
  sections: (operator, asked) => [
    section('transactions', 'Transactions, the newest first', async () => {
      const { orderNumber, programId, messageTypeId, asOf, page } = asked;
      const keys = {
        ...{ orderNumber, programId, asOf, page, pageSize: SIZE },
        messageTypeId: messageTypeId?.split(','),
      };
      const { answer, total } = await operator.page<readonly Transaction[]>('/ops/1.0/transactions', keys);
      return [
        ...(total === undefined ? [] : [{ is: 'facts', facts: [['Found', total]] } as const]),
        {
          is: 'table',
          columns: [
            'Transaction',
            'Time',
            'State',
            'Changed',
            'Program',
            'Site',
            'Order',
            'Value',
            'Commission',
            'Currency',
          ],
          none: 'No transactions.',
          rows: answer.map((one) => [
            transactionLink(one),
            time(one.timeOfEvent),
            one.stateName,
            time(one.changed),
            one.programId,
            one.siteName ?? '',
            one.orderNumber,
            one.orderValue,
            one.publisherCommission,
            one.currencyId,
          ]),
        },
        ...nextPage(transactions, asked, nextNumber(asked, answer.length)),
      ];
    }),
  ],
};

function transactionLink({ transactionId, legacyTransactionId }: Transaction): Cell {
  const id = transactionId ?? legacyTransactionId;
  return id === undefined ? undefined : linked(short(id), 'history', { kind: 'transaction', id });
}

const tokens: Page = {
  name: 'tokens',
  title: 'Tokens',
  inMenu: true,
  sections: (operator, { organisationId }) => [
    section('tokens', 'Tokens, by organisation', async () => {
      const found = await operator.get<readonly Token[]>('/ops/1.0/tokens', { organisationId });
      return {
        is: 'table',
        columns: ['Organisation', 'System', 'Site', 'Fingerprint', 'Expires', 'Last used'],
        none: 'There are none.',
        rows: found.map((one) => [
          linked(`${one.organisation} (${one.organisationId})`, 'tokens', {
            organisationId: one.organisationId,
          }),
          one.system,
          one.siteId,
          one.fingerprint,
          one.isExpired
            ? { text: `has expired at ${one.expires ?? ''}`, tone: 'bad' }
            : (time(one.expires) ?? 'never'),
          one.lastUsed ?? 'never',
        ]),
      };
    }),
  ],
};

const mappings: Page = {
  name: 'mappings',
  title: 'Mappings',
  inMenu: false,
  fields: (asked) => [
    line(asked, 'fid', 'Feed', true),
    choice(asked, 'state', 'State', ['mapped', 'unmapped']),
  ],
  sections: (operator, { fid, state: wanted }) => {
    if (fid === undefined || fid === '') return [];
    return [
      section('mappings', `Category names of feed ${fid}`, async () => {
        const [{ categoryMappings }, { suggestions }] = await Promise.all([
          operator.get<{ readonly categoryMappings: readonly MappedName[] }>('/ops/1.0/mappings', {
            fid,
            state: wanted,
          }),
          operator.get<{ readonly suggestions: readonly Suggested[] }>('/ops/1.0/mappings/suggestions', {
            fid,
          }),
        ]);
        const suggested = new Map(suggestions.map((one) => [one.categoryName, one.suggestions]));
        return [
          { is: 'links', links: [linked('Its history', 'history', { kind: 'feed', id: fid })] },
          {
            is: 'table',
            columns: ['Name', 'Products', 'State', 'Category', 'Change'],
            none: 'The feed has no category names.',
            rows: categoryMappings.map((one) => [
              one.categoryName,
              one.productCount,
              state(one.state),
              one.tdCategoryId === undefined ? '' : `${one.tdCategoryName ?? ''} (${one.tdCategoryId})`,
              one.state === 'mapped'
                ? {
                    is: 'action',
                    name: 'unmap',
                    label: 'Unmap',
                    known: { fid, name: one.categoryName },
                    fields: [REASON],
                  }
                : {
                    is: 'action',
                    name: 'map',
                    label: 'Map',
                    known: { fid, name: one.categoryName },
                    fields: [categoryField(suggested.get(one.categoryName) ?? []), REASON],
                  },
            ]),
          },
        ];
      }),
    ];
  },
  actions: {
    map: async (operator, { fid, name, categoryId, reason }) => {
      const mapping = { feedId: Number(fid), name, categoryId };
      await operator.change('POST', '/ops/1.0/mappings', { reason }, { mappings: [mapping] });
      return `“${name ?? ''}” is mapped to ${categoryId ?? ''}.`;
    },
    unmap: async (operator, { fid, name, reason }) => {
      await operator.change('DELETE', '/ops/1.0/mappings', { fid, name, reason });
      return `“${name ?? ''}” is no longer mapped.`;
    },
  },
};

function categoryField(suggestions: Suggested['suggestions']): Field {
  const field = { name: 'categoryId', label: 'Category', isRequired: true } as const;
  if (suggestions.length === 0) return field;
  return {
    ...field,
    choices: suggestions.map(({ categoryId, path }) => [categoryId, `${path} (${categoryId})`]),
  };
}

const claims: Page = {
  name: 'claims',
  title: 'Claims',
  inMenu: true,
  fields: (asked) => [
    line(asked, 'claimId', 'Id'),
    line(asked, 'programId', 'Program'),
    line(asked, 'statusId', 'Statuses (100,105 if none is given)'),
  ],
  sections: (operator, asked) => [
    section('claims', 'Claims', async () => {
      const { claimId, programId, statusId, offset = '0' } = asked;
      const keys = { claimId, programId, statusId: statusId?.split(','), offset, limit: SIZE };
      const table = await claimTable(operator, keys);
      const isFull = table.rows.length === SIZE;
      return [
        table,
        ...nextPage(claims, asked, isFull ? { offset: String(Number(offset) + SIZE) } : undefined),
      ];
    }),
  ],
  actions: {
    release: async (operator, { claimId = '', versionNo, reason }) => {
      await operator.change('POST', `/ops/1.0/claims/${encodeURIComponent(claimId)}/release`, {
        versionNo,
        reason,
      });
      return `Claim ${claimId} awaits the approval of its advertiser.`;
    },
    reject: async (operator, { claimId = '', versionNo, statusId, message, reason }) => {
      const keys = { versionNo, statusId, message, reason };
      await operator.change('POST', `/ops/1.0/claims/${encodeURIComponent(claimId)}/reject`, keys);
      return `Claim ${claimId} is rejected.`;
    },
  },
};

/** Statuses that operators decide. */
const AT_NETWORK = [100, 105];

async function claimTable(operator: Operator, keys: Keys): Promise<Table> {
  const found = await operator.get<readonly Claim[]>('/ops/1.0/claims', keys);
  return {
    is: 'table',
    columns: ['Claim', 'Filed', 'Status', 'Program', 'Site', 'Order', 'Value', 'Decide'],
    none: 'No claims.',
    rows: found.map((one) => {
      const known = { claimId: one.claimId, versionNo: one.versionNo };
      const isPending = AT_NETWORK.includes(one.statusId);
      return [
        linked(String(one.claimId), 'history', { kind: 'claim', id: one.claimId }),
        one.timeStamp,
        `${one.statusName} (${one.statusId})`,
        one.programName,
        one.siteName,
        one.orderNumber,
        one.orderValue,
        isPending ? linked('decide', 'claim', known) : '',
      ];
    }),
  };
}

/** Statuses by which operators reject (Document 3, Statuses), of those that need no message first. */
const REJECTIONS = ['211', '111', '201'] as const;

const claim: Page = {
  name: 'claim',
  title: 'Decide a claim',
  inMenu: false,
  sections: (operator, { claimId, versionNo }) => [
    section('claim', `Claim ${claimId ?? ''}`, async () => {
      const known = { claimId: claimId ?? '', versionNo: versionNo ?? '' };
      const statusId = [...AT_NETWORK.map(String)];
      return [
        await claimTable(operator, { claimId, statusId }),
        { is: 'action', name: 'release', label: 'Release to its advertiser', known, fields: [REASON] },
        {
          is: 'action',
          name: 'reject',
          label: 'Reject',
          known,
          fields: [
            { name: 'statusId', label: 'With status', value: REJECTIONS[0], isRequired: true },
            { name: 'message', label: 'Message for its publisher' },
            REASON,
          ],
        },
      ];
    }),
  ],
  ...(claims.actions === undefined ? {} : { actions: claims.actions }),
};

const deliveries: Page = {
  name: 'deliveries',
  title: 'Deliveries',
  inMenu: true,
  fields: (asked) => [
    choice(asked, 'state', 'State', ['due', 'retrying', 'delivered', 'dead', 'cancelled']),
    line(asked, 'organisationId', 'Organisation'),
    line(asked, 'subscriptionId', 'Subscription'),
  ],
  sections: (operator, asked) => {
    const { state: wanted, organisationId, subscriptionId, cursor, receivers = FIRST } = asked;
    return [
      section(
        'deliveries',
        'Messages, the newest first',
        () =>
          deliveryTable(
            operator,
            { state: wanted, organisationId, subscriptionId, cursor: cursor ?? FIRST, pageSize: SIZE },
            asked,
          ),
        true,
      ),
      section(
        'receivers',
        'Receivers, those that were used last first',
        async () => {
          const keys = { organisationId, subscriptionId, cursor: receivers, pageSize: SIZE };
          const { answer: found, next } = await operator.page<readonly Receiver[]>(
            '/ops/1.0/receivers',
            keys,
          );
          const table: Body = {
            is: 'table',
            columns: ['Receiver', 'Organisation', 'Subscription', 'State', 'How it does'],
            none: 'Nothing was sent to anybody.',
            rows: found.map(
              ({ receiverId, organisationId: owner, subscriptionId: id, disabled, ...rest }) => [
                receiverId,
                owner,
                linked(id, 'history', { kind: 'subscription', id }),
                receiverState(disabled, rest.restsUntil),
                short(rest),
              ],
            ),
          };
          return [table, ...nextPage(deliveries, asked, nextCursor(next, 'receivers'))];
        },
        true,
      ),
    ];
  },
};

function receiverState(isDisabled: boolean, restsUntil: string | undefined): Value {
  if (isDisabled) return { text: 'disabled', tone: 'bad' };
  if (restsUntil !== undefined) return { text: `rests until ${restsUntil}`, tone: 'waiting' };
  return { text: 'enabled', tone: 'good' };
}

async function deliveryTable(operator: Operator, keys: Keys, asked: Asked = {}): Promise<readonly Body[]> {
  const { answer, next } = await operator.page<readonly Delivery[]>('/ops/1.0/deliveries', keys);
  const table: Body = {
    is: 'table',
    columns: ['Message', 'State', 'Organisation', 'Subscription', 'About', 'Details'],
    none: 'No messages.',
    rows: answer.map(({ messageId, state: is, held, organisationId, subscriptionId, ...rest }) => {
      const { transactionId, claimId } = rest;
      const about = transactionId ?? claimId;
      const kind = transactionId === undefined ? 'claim' : 'transaction';
      return [
        linked(messageId, 'why', { kind: 'delivery', id: messageId }),
        state(held ? 'held' : is),
        organisationId,
        linked(subscriptionId, 'history', { kind: 'subscription', id: subscriptionId }),
        about === undefined ? '' : linked(about, 'history', { kind, id: about }),
        short(rest),
      ];
    }),
  };
  return [table, ...nextPage(deliveries, asked, nextCursor(next))];
}

const pasts: Page = {
  name: 'as-of',
  title: 'As of',
  inMenu: true,
  sections: (operator) => [
    section(
      'as-of',
      'Read models as of a time',
      async () => {
        const found = await operator.get<readonly AsOf[]>('/ops/1.0/asOf');
        return {
          is: 'table',
          columns: ['Name', 'As of', 'Position', 'Complete', 'Being built', 'Dropped', ''],
          none: 'There are none.',
          rows: found.map((one) => [
            one.name,
            time(one.time),
            one.position,
            one.complete.map(({ name, documents }) => `${name} (${documents})`).join(', '),
            one.failure ?? one.unfinished.join(', '),
            time(one.expires),
            { is: 'action', name: 'drop', label: 'Drop', known: { name: one.name }, fields: [REASON] },
          ]),
        };
      },
      true,
    ),
    section('build', 'Build another', async () => ({
      is: 'action',
      name: 'build',
      label: 'Build',
      fields: [
        { name: 'name', label: 'Name', isRequired: true },
        { name: 'projection', label: 'Read model, or all', value: 'products', isRequired: true },
        { name: 'at', label: 'As of (time)', isRequired: true },
        REASON,
      ],
    })),
  ],
  actions: {
    build: async (operator, { name, projection, at, reason }) => {
      await operator.change('POST', '/ops/1.0/asOf', { name, projection, at, reason });
      return `${name ?? ''} is being built.`;
    },
    drop: async (operator, { name = '', reason }) => {
      await operator.change('DELETE', `/ops/1.0/asOf/${encodeURIComponent(name)}`, { reason });
      return `${name} is dropped.`;
    },
  },
};

const ROWS = 1_000;

const sql: Page = {
  name: 'sql',
  title: 'SQL',
  inMenu: true,
  fields: (asked) => [{ ...line(asked, 'q', 'Statement, such as: SELECT * FROM feeds', true), isLong: true }],
  sections: (operator, { q }) => {
    if (q === undefined || q === '')
      return [
        section('tables', 'Tables', async () => ({
          is: 'links',
          links: [linked('Show tables', 'sql', { q: 'SHOW TABLES' })],
        })),
      ];
    return [
      section('rows', 'Rows', async () => {
        const rows = await operator.lines<Readonly<Record<string, unknown>>>('/ops/1.0/sql', { q });
        const columns = [...new Set(rows.slice(0, ROWS).flatMap((row) => Object.keys(row)))];
        const shown = rows.slice(0, ROWS);
        return [
          {
            is: 'table',
            columns,
            none: 'No rows.',
            rows: shown.map((row) => columns.map((column) => sqlCell(row[column]))),
          },
          ...(rows.length <= ROWS
            ? []
            : [{ is: 'problem', text: `These are ${ROWS} of ${rows.length} rows.` } as const]),
        ];
      }),
    ];
  },
};

function sqlCell(value: unknown): Cell {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return short(value);
}

const actions: Page = {
  name: 'actions',
  title: 'Actions',
  inMenu: true,
  sections: (operator, asked) => [
    section('actions', 'What operators have done', () =>
      actionTable(operator, { limit: SIZE, before: asked['before'] }, asked),
    ),
  ],
};

async function actionTable(operator: Operator, keys: Keys, asked?: Asked): Promise<readonly Body[]> {
  const found = await operator.get<readonly ListedAction[]>('/ops/1.0/actions', keys);
  const table: Body = {
    is: 'table',
    columns: ['Time', 'Action', 'By', 'Why', 'Asked for', 'State'],
    none: 'Nothing.',
    rows: found.map((one) => [
      time(one.time),
      one.action,
      one.by,
      one.reason ?? '',
      one.asked.map(({ name, value }) => `${name}=${value}`).join(', '),
      one.failure === undefined ? state(one.state) : { text: `${one.state}: ${one.failure}`, tone: 'bad' },
    ]),
  };
  const last = found.at(-1);
  const before =
    asked === undefined || found.length < SIZE || last === undefined ? undefined : String(last.number);
  return [table, ...nextPage(actions, asked ?? {}, before === undefined ? undefined : { before })];
}

/** All pages, in the order of the menu. */
export const PAGES: readonly Page[] = [
  overview,
  readModels,
  readModel,
  log,
  event,
  history,
  why,
  feeds,
  mappings,
  products,
  vouchers,
  transactions,
  claims,
  claim,
  deliveries,
  pasts,
  sql,
  tokens,
  actions,
];

/** The address of a page with the keys that it was asked for. */
export function addressOf({ name }: Pick<Page, 'name'>, asked: Asked): string {
  return pageAddress(name, asked);
}
