import { type Asked, type Body, type Cell, type Page, section, type Value } from '../content';
import { linked } from '../render';
import { line, short, time } from './common';

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

function json(value: unknown): Body {
  return { is: 'text', text: JSON.stringify(value, undefined, 2) };
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

const EVENTS = 50;

export const log: Page = {
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

export const event: Page = {
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

export const history: Page = {
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

const ROWS = 1_000;

export const sql: Page = {
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
