import { type Asked, type Body, type Page, section } from './content';
import { pageAddress } from './render';
import { feeds, mappings, products, vouchers } from './pages/catalogue';
import { deliveries, deliveryTable } from './pages/deliveries';
import { event, history, log, sql } from './pages/log';
import { claim, claimTable, claims, transactions } from './pages/orders';
import { readModel, readModelTable, readModels } from './pages/read-models';
import { actionTable, actions, pasts, tokens } from './pages/system';
import { why } from './pages/why';

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
