import { type Asked, type Body, type Page, section } from '../content';
import { type Keys, type Operator } from '../operator';
import { linked } from '../render';
import { REASON, SIZE, nextPage, state, time } from './common';

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

interface AsOf {
  readonly name: string;
  readonly time?: string;
  readonly position?: string;
  readonly expires?: string;
  readonly complete: readonly { readonly name: string; readonly documents: number }[];
  readonly unfinished: readonly string[];
  readonly failure?: string;
}

export const tokens: Page = {
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

export const pasts: Page = {
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

export const actions: Page = {
  name: 'actions',
  title: 'Actions',
  inMenu: true,
  sections: (operator, asked) => [
    section('actions', 'What operators have done', () =>
      actionTable(operator, { limit: SIZE, before: asked['before'] }, asked),
    ),
  ],
};

export async function actionTable(operator: Operator, keys: Keys, asked?: Asked): Promise<readonly Body[]> {
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
