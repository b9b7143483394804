import { STATES } from '../../domain/deliveries/stored-delivery';
import { numberOf } from '../../kernel/event';
import { sizeText as size } from '../../kernel/text';
import { jsonObject } from '../../kernel/values';
import { ACTIONS } from '../../operations/actions';
import { actionOperations } from '../../operations/rest/actions.controller';
import { backupOperations } from '../../operations/rest/backups.controller';
import { asOfOperations } from '../../operations/rest/as-of.controller';
import { directoryOperations } from '../../operations/rest/directory.controller';
import { type Readiness } from '../../operations/rest/operators.module';
import { parkedOperations } from '../../operations/rest/parked.controller';
import { projectionOperations as operations } from '../../operations/rest/projections.controller';
import { serverOperations } from '../../operations/rest/server.controller';
import { anyDeliveryApi } from '../../services/subscriptions/deliveries.controller';
import { type AnswerOf } from '../../wire/record/record';
import * as ui from '../content';
import { listPage } from '../lists';
import { ifThere, type Operator } from '../operator';
import { claims } from './catalogue';
import { messages } from './notifications';

type ReadModel = AnswerOf<typeof operations.listProjections.answer.kind>[number];

function behind({ lagEvents, lagSeconds = 0 }: ReadModel): ui.Cell {
  return lagEvents === undefined ? undefined : `${lagEvents.toLocaleString('en')} events, ${lagSeconds} s`;
}

function underWay({ rebuild, failure }: ReadModel): ui.Cell {
  if (rebuild === undefined)
    return failure && { text: `the last ${failure.what} failed: ${failure.reason}`, tone: 'bad' };
  const { isComparison, phase, events, total, end, isRunning, readModels: all } = rebuild;
  const what = `${isComparison ? 'comparison' : 'rebuild'}${all === 1 ? '' : ` of ${all} read models`}`;
  if (!isRunning)
    return { text: `the ${what} was interrupted: start it again to continue it`, tone: 'waiting' };
  const share = Math.min(1, events / Math.max(1, total));
  const until = end === undefined ? '' : `, until about ${end.slice(11, 19)}`;
  return { share, text: `${what}: ${phase}, ${Math.floor(100 * share)} %${until}` };
}

const parkedIn = ({ name, parked: count }: ReadModel): ui.Cell =>
  ui.trouble(count, ui.pageAddress('parked', { name }));

export const readModels = listPage({
  page: ['read-models', 'Read models', 'All read models', 'There are none.'],
  from: [operations.listProjections, 'nothing'],
  isLive: true,
  rows: (all) => all,
  columns: {
    Name: ({ name }) => ui.linked(name, 'read-model', { name }),
    State: ({ state: is }) => ui.state(is),
    Behind: behind,
    'Events/s': ({ rate }) => rate,
    ...ui.own('generation'),
    Size: ({ bytes }) => size(bytes),
    Parked: parkedIn,
    'Under way': underWay,
  },
});

const FORCE = ui.choice('force', 'Despite parked documents or differences', ['true'], 'no');
const SWAP = ui.choice('swap', 'Make it live when it is complete', ['false'], 'yes');

const READ_MODEL_ACTIONS = {
  pause: ui.action('Pause', operations.pauseProjections, ':name is paused.', {
    explains:
      'It stays as it is, also after restarts, until it is resumed. Searches continue with what is there.',
  }),
  resume: ui.action('Resume', operations.resumeProjections, ':name follows the log again.'),
  rebuild: ui.action('Rebuild', operations.rebuildProjections, ':name is being rebuilt.', {
    explains: 'A new generation is built from the log beside the live one, compared with it, and made live.',
    fields: [SWAP, FORCE],
  }),
  verify: ui.action('Compare with the log', operations.verifyProjections, ':name is being compared.', {
    explains: 'The log is projected once more, and each document compared. Searches notice nothing.',
  }),
  swap: ui.action('Swap in', operations.swapProjections, ':name has another generation now.', {
    explains: 'The generation that is ready becomes live. The live one is kept for a rollback.',
    ...{ fields: [FORCE], isGrave: true },
  }),
  rollback: ui.action('Roll back', operations.rollbackProjections, ':name is rolled back.', {
    explains:
      'The former generation, which has followed the log, is live within a second. What is live now is kept.',
    ...{ fields: [FORCE], isGrave: true },
  }),
  discard: ui.action('Drop others', operations.discardGenerations, ':name has its live generation only.', {
    explains: 'All generations beside the live one are dropped: no rollback is possible then.',
    isGrave: true,
  }),
};

/** What can be done with a read model as it is. */
function offered({
  state: is,
  generations,
  rebuild,
}: ReadModel): readonly (keyof typeof READ_MODEL_ACTIONS)[] {
  const others = generations.map((one) => one.state).filter((one) => one !== 'live');
  return [
    is === 'paused' ? 'resume' : 'pause',
    ...(rebuild?.isRunning === true ? [] : (['rebuild', 'verify'] as const)),
    ...(others.includes('ready') ? (['swap'] as const) : []),
    ...(others.includes('kept') ? (['rollback'] as const) : []),
    ...(others.length > 0 ? (['discard'] as const) : []),
  ];
}

export const readModel: ui.ConsolePage = {
  ...{ name: 'read-model', title: 'Read model', actions: READ_MODEL_ACTIONS },
  fields: ui.lines({ name: 'Name' }),
  sections: [
    ui.section('state', ({ name = '' }) => name, stateBodies, true),
    ui.section('comparison', 'The last comparison with the log', comparison, true),
  ],
};

async function stateBodies(operator: Operator, { name }: ui.Asked): Promise<ui.Bodies> {
  const [one] = await operator.get(operations.listProjections, { name });
  if (one === undefined) return [];
  const { state: is, reason, rate, position, version, bytes, end: caughtUpAtAbout } = one;
  return [
    ui.facts({
      ...{ state: ui.state(is), reason, behind: behind(one), caughtUpAtAbout, 'Events/s': rate, position },
      ...{ version, size: size(bytes), parked: parkedIn(one), underWay: underWay(one) ?? 'nothing' },
    }),
    ...offered(one).map((action) => ui.form(READ_MODEL_ACTIONS, action, { name })),
    ui.table(one.generations, 'It has no generation.', {
      Generation: ({ number }) => number,
      State: (each) => ui.state(each.state),
      ...ui.own('version', 'position'),
      Size: (each) => size(each.bytes),
      'Is dropped at': ({ until }) => until,
    }),
  ];
}

async function comparison(operator: Operator, { name }: ui.Asked): Promise<ui.Bodies> {
  const found = await ifThere(operator.get(operations.getVerification, { name }));
  const tried = await ifThere(operator.get(operations.getVerification, { name, sample: 'true' }));
  const lastSample = tried && `${tried.differing} differ of one in ${tried.sample}, at ${tried.at}`;
  if (found === undefined) return ui.facts({ Compared: 'not yet', lastSample });
  const { at, position, documents, differences, live, rebuilt } = found;
  return [
    ui.facts({ at, position, documents, thatDiffer: ui.trouble(found.differing), live, rebuilt, lastSample }),
    ui.table(differences, 'No document differs.', {
      Document: ({ id }) => ui.linked(id, 'document', { readModel: name, id }),
      Live: ({ fields, live }) => differing(fields, live),
      'By the log': ({ fields, rebuilt }) => differing(fields, rebuilt),
    }),
  ];
}

/** The fields of a document that differ; of one that is cut, its beginning. */
function differing(fields: readonly string[], body: string | undefined): ui.Cell {
  if (body === undefined) return { text: 'missing', tone: 'bad' };
  const document = jsonObject(body);
  return document === undefined
    ? ui.short(body)
    : fields.map((name) => `${name}: ${ui.short(document[name])}`).join('; ');
}

const PARKED_ACTIONS = {
  retryAll: ui.action('Retry all of them', parkedOperations.retryParked, 'All of them are retried.', {
    explains: 'Documents that can be folded now leave this list within moments.',
  }),
  retry: ui.action('Retry', parkedOperations.retryParked, ':id is retried.'),
  skip: ui.action('Skip', parkedOperations.skipParked, 'The event of :id is skipped.', {
    explains: 'The event is left out permanently, as if it had not happened; then the document is retried.',
    isGrave: true,
  }),
};

export const parked = listPage({
  page: ['parked', 'Parked', 'Documents and events that cannot be used', 'Nothing is parked.'],
  from: [parkedOperations.listParked, 'nothing'],
  isLive: true,
  fields: ui.lines({}, { name: 'Read model, matcher, automations or directory' }),
  rows: (all) => all,
  before: ({ name }, all) => all.length > 0 && ui.form(PARKED_ACTIONS, 'retryAll', { name }),
  columns: {
    In: ({ name }) => ui.linked(name, 'parked', { name }),
    Id: ({ name: readModel, id, position }) =>
      position === undefined ? id : ui.linked(id, 'document', { readModel, id }),
    ...ui.own('what'),
    Event: ({ position, type, stream }) =>
      position === undefined
        ? ui.linked(`${type ?? ''} ${stream}`, 'log', { stream })
        : ui.linked(`${stream} at ${numberOf(position)}`, 'event', { position }),
    Why: ({ error }) => ({ text: error, tone: 'bad' }),
    Retry: ({ name, id, retryRequested }) =>
      retryRequested ? ui.state('waiting', 'requested') : ui.form(PARKED_ACTIONS, 'retry', { name, id }),
    Skip: ({ name, id }) => ui.form(PARKED_ACTIONS, 'skip', { name, id }),
  },
  actions: PARKED_ACTIONS,
});

export const tokens = listPage({
  page: ['tokens', 'Tokens', 'By organisation', 'There are none.'],
  from: [directoryOperations.listTokens, 'nothing'],
  fields: ui.lines({}, { organisationId: 'Organisation' }),
  rows: (all) => all,
  columns: {
    Organisation: ({ organisation, organisationId: id }) =>
      ui.linked(`${organisation} (${id})`, 'subscriptions', { organisationId: id }),
    ...ui.own('system', 'siteId', 'fingerprint'),
    Expires: ({ isExpired, expires = 'never' }) => (isExpired ? { text: expires, tone: 'bad' } : expires),
    'Last used': ({ lastUsed }) => lastUsed ?? 'never',
  },
});

const PAST_ACTIONS = {
  build: ui.action('Build another', asOfOperations.buildAsOf, ':name is being built.', {
    fields: [
      ...ui.lines({ name: 'Name', at: 'As of (time)' }),
      { ...ui.required('projection', 'Read model, or all'), value: 'products' },
    ],
  }),
  drop: ui.action('Drop', asOfOperations.dropAsOf, ':name is dropped.'),
};

export const pasts = listPage({
  page: ['as-of', 'As of', 'Read models as of a time', 'None: build them as of a time.'],
  from: [asOfOperations.listAsOf, 'nothing'],
  isLive: true,
  actions: PAST_ACTIONS,
  before: () => ui.form(PAST_ACTIONS, 'build', {}),
  rows: (all) => all,
  columns: {
    ...ui.own('name'),
    'As of': ({ time }) => time,
    ...ui.own('position'),
    Complete: ({ complete }) => complete.map(({ name, documents }) => `${name} (${documents})`).join(', '),
    'Being built': ({ failure, unfinished }) =>
      failure === undefined ? unfinished.join(', ') : { text: failure, tone: 'bad' },
    'Is dropped at': ({ expires }) => expires,
    Drop: ({ name }) => ui.form(PAST_ACTIONS, 'drop', { name }),
  },
});

const BACKUP_ACTIONS = {
  make: ui.action('Back up', backupOperations.makeBackup, 'Backup :name is complete, and was read again.', {
    fields: ui.lines({ name: 'Name' }),
  }),
};

export const backups = listPage({
  page: ['backups', 'Backups', 'Below BACKUP_DIR', 'There are none.'],
  from: [backupOperations.listBackups, 'nothing'],
  actions: BACKUP_ACTIONS,
  before: () => ui.form(BACKUP_ACTIONS, 'make', {}),
  rows: (all) => all,
  columns: {
    ...ui.own('name'),
    'Made at': ({ at }) => at,
    ...ui.own('events', 'position'),
    Size: ({ bytes }) => bytes && size(bytes),
    'Is it whole': ({ name, problem }) =>
      problem === undefined ? ui.linked('read it again', 'backup', { name }) : { text: problem, tone: 'bad' },
  },
});

export const backup: ui.ConsolePage = {
  ...{ name: 'backup', title: 'Backup', fields: ui.lines({ name: 'Name' }) },
  sections: [ui.section('backup', ({ name = '' }) => name, readAgain)],
};

async function readAgain(operator: Operator, { name }: ui.Asked): Promise<ui.Bodies> {
  const { problems, bytes, ...found } = await operator.get(backupOperations.verifyBackup, { name });
  const canBeRestored = ui.yes(problems.length === 0);
  return [ui.facts({ canBeRestored, ...found, size: size(bytes) }), ...problems.map(ui.problem)];
}

export const actions = listPage({
  page: ['actions', 'Actions', 'What operators have done', 'No operator has changed anything yet.'],
  from: [actionOperations.listActions, 'before'],
  fields: [ui.choice('action', 'Action', Object.keys(ACTIONS))],
  rows: (all) => all,
  columns: {
    ...ui.own('time'),
    Action: ({ action }) => ui.linked(action, 'actions', { action }),
    ...ui.own('by', 'reason'),
    'Asked for': ({ asked }) => asked.map(({ name, value }) => `${name}=${value}`).join(', '),
    State: ({ state: is, failure }) => ui.state(is, failure === undefined ? is : `${is}: ${failure}`),
    ...ui.own('ended'),
  },
});

const RECENT = '10';

export const overview: ui.ConsolePage = {
  ...{ name: 'overview', title: 'Overview' },
  sections: [
    ui.section('health', 'Health', health, true),
    ui.section('behind', 'Read models', (operator) => readModels.part(operator, {}), true),
    ui.section('messages', 'Messages', messageCounts),
    ui.section('dead', 'Messages that could not be delivered', (operator) =>
      messages.part(operator, { state: 'dead', pageSize: RECENT }),
    ),
    ui.section('pending', 'Claims that wait for the network', (operator) =>
      claims.part(operator, { limit: RECENT }),
    ),
    ui.section('server', 'Server', server, true),
    ui.section('actions', 'What operators have done', (operator) =>
      actions.part(operator, { limit: RECENT }),
    ),
  ],
};

type HealthAnswer = Awaited<ReturnType<Readiness>> & Readonly<{ status: string; unexpectedFailures: number }>;

async function health(operator: Operator): Promise<ui.Bodies> {
  const { status, waiting, unexpectedFailures, ...others } = await operator.health<HealthAnswer>();
  const { behind: seconds = 0, parked: count = 0, ...parts } = others;
  return [
    ui.facts({
      ...{ state: ui.state(status), readModelsBehind: `${seconds} s`, parked: ui.trouble(count, 'parked') },
      unexpectedFailures: ui.trouble(unexpectedFailures),
    }),
    ui.table(Object.entries({ ...waiting, ...parts }), 'All parts work.', {
      Part: ([part]) => part,
      'What it waits for or suffers from': ([, reason]) => reason,
    }),
  ];
}

async function messageCounts(operator: Operator): Promise<ui.Body> {
  const { listAnyDeliveries } = anyDeliveryApi;
  const counts = STATES.map(async (is) => {
    const { total = 0 } = await operator.page(listAnyDeliveries, { state: is, pageSize: 1 });
    return [is, { ...(total > 0 && ui.state(is)), ...ui.linked(total, 'messages', { state: is }) }] as const;
  });
  return ui.facts(Object.fromEntries(await Promise.all(counts)));
}

/** Of the disk: read models are rebuilt beside the live ones. */
const LITTLE = 0.2;

async function server(operator: Operator): Promise<ui.Bodies> {
  const now = await operator.get(serverOperations.getServerState);
  const { eventLog, readStore, position, lastMinute, memory, startedAt, version, node } = now;
  const { free, total, used, files } = now.disk;
  const tone = free < LITTLE * total ? 'bad' : 'good';
  return [
    ui.facts({
      ...{ eventLog, readStore, eventsInTheLastMinute: lastMinute },
      lastPosition: ui.linked(numberOf(position), 'event', { position }),
      freeDiskSpace: { text: `${size(free)} of ${size(total)}`, tone },
      ...{ dataFolder: size(used), memory: size(memory), startedAt, version: `${version}, Node.js ${node}` },
    }),
    ui.table(now.leases, 'No leases.', {
      'Who leads': ({ work }) => work,
      Process: ({ owner }) => owner ?? ui.state('waiting', 'nobody'),
      'Until, unless renewed': ({ until }) => until,
    }),
    ui.table(files.slice(0, 12), 'No files.', {
      'Largest files': ({ name }) => name,
      Size: ({ bytes }) => size(bytes),
    }),
  ];
}
