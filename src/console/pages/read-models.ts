import { type Action, type Asked, type Body, type Field, type Page, section, type Value } from '../content';
import { type Operator, Refused } from '../operator';
import { linked } from '../render';
import { REASON, line, short, time } from './common';

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

export const readModels: Page = {
  name: 'read-models',
  title: 'Read models',
  inMenu: true,
  sections: (operator) => [section('read-models', 'All read models', () => readModelTable(operator), true)],
};

export async function readModelTable(operator: Operator): Promise<Body> {
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

export const readModel: Page = {
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
