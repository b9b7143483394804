import { Controller, Get, Injectable, type OnModuleDestroy, Post } from '@nestjs/common';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { type Caller } from '../../network/organisations';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { operationsById, type OperationText, type Shape } from '../../wire/api/description';
import { BOOLEAN, INTEGER, type Keys, type KeyTable, type KeyType, TEXT } from '../../wire/keys/keys';
import { amount, boolean, integer, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { type Config } from '../../settings/config';
import { type ActionName, operatorText } from '../actions';
import {
  pauseReadModels,
  readModelStates,
  type ReadModelState,
  type Rebuilding,
  resumeReadModels,
} from '../projections';
import {
  discardGenerations,
  lastVerification,
  type ProjectedEngines,
  projectionsNamed,
  swapProjections,
} from '../rebuild';
import { callerOf, OperatorActions } from './actions.controller';
import { operatorFaults as fault, REASON, REQUIRED_REASON } from './operator-service';

/** What the controller is given. */
@Injectable()
export abstract class ProjectionParts {
  /** The log of deliveries, opened when it is first needed. */
  abstract readonly deliveries: ProjectedEngines['deliveries'];
  abstract readonly notifyKeep: Config['notifyKeep'];
  abstract readonly rollbackWithin: Config['rollbackWithin'];
  abstract readonly rebuilding: Rebuilding;
}

/** What is under way, and what waits. */
const MOST_BEGUN = 10;

const NAMES = 'Read models, such as products';

const listKeys = {
  name: { type: TEXT, multiple: true, description: `${NAMES}; all by default` },
} as const satisfies KeyTable;

const NAMED = { type: TEXT, multiple: true, required: true, description: `${NAMES}, or all` } as const;

const nameKeys = { name: NAMED, ...REASON } as const satisfies KeyTable;

const discardKeys = { ...nameKeys, ...REQUIRED_REASON } as const satisfies KeyTable;

const forceKeys = {
  ...discardKeys,
  force: { type: BOOLEAN, description: 'true: despite parked documents' },
} as const satisfies KeyTable;

const rebuildKeys = {
  ...nameKeys,
  force: { type: BOOLEAN, description: 'true: swap in despite differences and parked documents' },
  swap: { type: BOOLEAN, description: 'false: leave them ready to be swapped in; default true' },
} as const satisfies KeyTable;

const SAMPLE: KeyType<number> = {
  ...INTEGER,
  expected: 'a number of documents of at least 1',
  read: (text) => (Number(text) < 1 ? undefined : INTEGER.read(text)),
};

const verifyKeys = {
  ...nameKeys,
  sample: { type: SAMPLE, description: 'Only about so many documents of each' },
} as const satisfies KeyTable;

const oneKeys = {
  name: { type: TEXT, required: true, description: 'Read model, such as products' },
  sample: { type: BOOLEAN, description: 'true: what the last comparison of a sample has found' },
} as const satisfies KeyTable;

const optional = { optional: true } as const;

const generationRecord = record({
  number: { kind: integer(), description: 'Its number' },
  version: { kind: integer(), description: 'Version of the read model' },
  state: {
    kind: text(),
    description:
      'live; kept: it was live, and a rollback makes it live again; ready: it may be swapped in; unfinished: it is being ' +
      'built, or a rebuild was interrupted; old: the next rebuild drops it',
  },
  position: { kind: text(), description: 'Up to where it has the log' },
  bytes: { kind: integer(), description: 'Disk space' },
  until: { kind: text(), ...optional, description: 'When it is dropped, ISO 8601' },
});

const rebuildRecord = record({
  generation: { kind: integer(), description: 'The generation that is built' },
  isComparison: { kind: boolean(), description: 'It is only compared with the live one' },
  phase: { kind: text(), description: 'project, index, compare or swap' },
  readModels: {
    kind: integer(),
    description: 'How many are built in the same pass over the log: what follows is of all of them together',
  },
  events: { kind: integer(), description: 'Events that were read' },
  total: { kind: integer(), description: 'Estimated number of all' },
  rate: { kind: integer(), description: 'Events per second' },
  end: {
    kind: text(),
    ...optional,
    description: 'When it is expected to end, ISO 8601; absent as long as that cannot be known',
  },
  at: { kind: text(), description: 'As of when this is known, ISO 8601' },
  isRunning: { kind: boolean(), description: 'false: it was interrupted, and asked for again it continues' },
});

const stateRecord = record(
  {
    name: { kind: text(), description: 'Read model' },
    state: {
      kind: text(),
      description:
        'building: it cannot be read yet; catching up; live; paused by an operator; degraded: some of it is missing or ' +
        'behind; failed: nothing new gets into it, or it cannot be read',
    },
    reason: { kind: text(), ...optional, description: 'What it waits for or suffers from, and what helps' },
    paused: {
      kind: record({
        since: { kind: text(), description: 'Since when, ISO 8601' },
        by: {
          kind: text(),
          ...optional,
          description:
            'The user of the shell, or the fingerprint of the token; absent: by an earlier version',
        },
      }),
      ...optional,
      description: 'If an operator has paused it',
    },
    version: { kind: integer(), description: 'Version of the read model in the code' },
    generation: { kind: integer(), ...optional, description: 'The live generation' },
    position: { kind: text(), ...optional, description: 'Up to where it has the log' },
    lagEvents: {
      kind: integer(),
      ...optional,
      description: 'Events of its streams that it lacks; estimated beyond 10,000',
    },
    lagSeconds: { kind: amount(), ...optional, description: 'Age of the first of them' },
    rate: {
      kind: integer(),
      description: 'Events per second: of its build, or of all read models of its log together',
    },
    end: {
      kind: text(),
      ...optional,
      description: 'When its build, or catching up, is expected to end, ISO 8601',
    },
    bytes: { kind: integer(), description: 'Disk space of all its generations' },
    parked: { kind: integer(), description: 'Documents that are parked' },
    generations: { kind: listOf(generationRecord, { each: 'generation' }), description: 'All there are' },
    rebuild: {
      kind: rebuildRecord,
      ...optional,
      description: 'A rebuild or comparison that is under way, or was interrupted',
    },
    failure: {
      kind: record({
        what: { kind: text(), description: 'rebuild or comparison' },
        reason: { kind: text(), description: 'Why it failed' },
        at: { kind: text(), description: 'When it failed, ISO 8601' },
      }),
      ...optional,
      description: 'Why the last rebuild or comparison failed',
    },
  },
  { name: 'ReadModelState' },
);

const STATES = {
  name: 'ReadModelStates',
  kind: listOf(stateRecord, { each: 'readModel' }),
} as const satisfies Shape;

const VERIFICATION = {
  name: 'Verification',
  kind: record({
    at: { kind: text(), description: 'When it ended, ISO 8601' },
    position: { kind: text(), description: 'Both were as of this log position' },
    live: { kind: integer(), ...optional, description: 'The live generation; absent if there was none' },
    rebuilt: { kind: integer(), ...optional, description: 'The new generation, unless it was dropped then' },
    documents: { kind: integer(), description: 'Documents of the new generation' },
    parked: { kind: integer(), description: 'Documents that could not be folded' },
    sample: { kind: integer(), description: 'One of so many documents was compared; 1: all' },
    differing: { kind: integer(), description: 'Documents that differ' },
    differences: {
      kind: listOf(
        record({
          id: { kind: text(), description: 'Document' },
          fields: { kind: listOf(text(), { each: 'name' }), description: 'Fields that differ' },
          live: { kind: text(), ...optional, description: 'The live document: 10,000 characters at most' },
          rebuilt: { kind: text(), ...optional, description: 'The new one' },
        }),
        { each: 'difference' },
      ),
      description: 'The first 100',
    },
  }),
} as const satisfies Shape;

const BEGUN =
  'Answers once it has begun, in the process that answers, one after the other: the list reports its progress, and why ' +
  'the last one failed. ';

/** Read models (`docs/decisions.md#x122`). */
export const projectionOperations = operationsById({
  listProjections: {
    summary: 'List the read models',
    description: 'How each does: state, generation, position, lag, rate, size and what is parked.',
    example: { name: ['products'] },
    answer: STATES,
  },
  pauseProjections: {
    summary: 'Pause read models',
    description:
      'They stay as they are until they are resumed, also after restarts. Searches continue with what is there.',
    example: { name: ['vouchers'] },
  },
  resumeProjections: {
    summary: 'Resume paused read models',
    description: 'They follow the log again.',
    example: { name: ['vouchers'] },
  },
  rebuildProjections: {
    summary: 'Rebuild read models',
    description: `${BEGUN}Asked again after an interruption, it continues.`,
    example: { name: ['vouchers'] },
  },
  verifyProjections: {
    summary: 'Compare read models with the log',
    description: `${BEGUN}New generations are built, compared with the live ones at the same position, and dropped.`,
    example: { name: ['vouchers'] },
  },
  getVerification: {
    summary: 'Get what the last comparison of a read model has found',
    description:
      'By a comparison of all documents, or a rebuild: the documents that differ, with both bodies.',
    example: { name: 'vouchers' },
    answer: VERIFICATION,
  },
  swapProjections: {
    summary: 'Make generations live that are ready',
    description: 'Those that a rebuild with `swap=false` has built. What was live is kept for a rollback.',
    example: { name: ['feeds'], reason: 'prices are wrong' },
  },
  rollbackProjections: {
    summary: 'Make former generations live again',
    description: 'They were followed since they were replaced. What was live is kept in their place.',
    example: { name: ['feeds'], reason: 'prices are wrong' },
  },
  discardGenerations: {
    summary: 'Drop what is beside the live generations',
    description: 'Former generations, those that are ready, and what interrupted rebuilds have left.',
    example: { name: ['vouchers'], reason: 'the disk is full' },
  },
});

type VerbKeys = Pick<Keys<typeof nameKeys>, 'name' | 'reason'> &
  Partial<Keys<typeof rebuildKeys> & Keys<typeof verifyKeys>>;

type ActionWork = (engines: ProjectedEngines, record: () => Promise<void>) => Promise<unknown>;

interface Verb {
  readonly action: ActionName;
  readonly operation: OperationText;
  readonly keys: KeyTable;
  readonly work: (engines: ProjectedEngines, asked: VerbKeys, options: VerbOptions) => Promise<unknown>;
  /** It is answered once it has begun. */
  readonly isLong?: true;
}

interface VerbOptions {
  readonly keepMs: number;
  readonly retainMs: number;
  readonly signal: AbortSignal;
  readonly rebuilding: Rebuilding;
  /** Who asks for it. */
  readonly by: string;
}

const swapTo =
  (kind: 'ready' | 'kept'): Verb['work'] =>
  (engines, { name, force }, { retainMs, signal }) =>
    swapProjections(engines, name, kind, { force, retainMs, signal });

/** What is done with read models, by the last segment of the path. */
const VERBS = {
  pause: {
    action: 'projections pause',
    operation: projectionOperations.pauseProjections,
    keys: nameKeys,
    work: (engines, { name }, { by }) => pauseReadModels(engines, name, SYSTEM_CLOCK, by),
  },
  resume: {
    action: 'projections resume',
    operation: projectionOperations.resumeProjections,
    keys: nameKeys,
    work: (engines, { name }) => resumeReadModels(engines, name),
  },
  rebuild: {
    action: 'rebuild',
    operation: projectionOperations.rebuildProjections,
    keys: rebuildKeys,
    work: (_, { name, force = false, swap = true }, { rebuilding, keepMs, retainMs, signal }) =>
      rebuilding.rebuild(name, { keepMs, retainMs, force, then: swap ? 'swap' : 'keep' }, signal),
    isLong: true,
  },
  verify: {
    action: 'projections verify',
    operation: projectionOperations.verifyProjections,
    keys: verifyKeys,
    work: (_, { name, sample: most }, { rebuilding, keepMs, signal }) =>
      rebuilding.verify(name, { keepMs, most }, signal),
    isLong: true,
  },
  swap: {
    action: 'projections swap',
    operation: projectionOperations.swapProjections,
    keys: forceKeys,
    work: swapTo('ready'),
  },
  rollback: {
    action: 'projections rollback',
    operation: projectionOperations.rollbackProjections,
    keys: forceKeys,
    work: swapTo('kept'),
  },
  discard: {
    action: 'projections discard',
    operation: projectionOperations.discardGenerations,
    keys: discardKeys,
    work: (engines, { name }) => discardGenerations(engines, name),
  },
} as const satisfies Readonly<Record<string, Verb>>;

/** Read models for operators: the same functions as `affilog projections`. */
@Controller('/ops/1.0/projections')
@Roles(['operator'])
@Produces(['json'])
export class ProjectionsController implements OnModuleDestroy {
  private readonly stop = new AbortController();
  /** What is under way in this process, and waits. Is never rejected. */
  private working: Promise<void> = Promise.resolve();
  private begun = 0;

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly parts: ProjectionParts,
    private readonly actions: OperatorActions,
  ) {}

  /** A stop does not wait for a rebuild: asked again, it continues. */
  async onModuleDestroy(): Promise<void> {
    this.stop.abort();
    await this.working;
  }

  @Get()
  @ApiOperation(projectionOperations.listProjections)
  list(@MatrixKeys(listKeys) { name }: Keys<typeof listKeys>): ListAnswer {
    return ListAnswer.of(projectionOperations.listProjections, async () => {
      const states: readonly ReadModelState[] = await readModelStates(this.engines(), SYSTEM_CLOCK, name);
      return { items: [states], total: states.length };
    });
  }

  @Get('verification')
  @ApiOperation(projectionOperations.getVerification)
  verification(@MatrixKeys(oneKeys) { name, sample }: Keys<typeof oneKeys>): QueuedAnswer {
    return QueuedAnswer.of(projectionOperations.getVerification, () =>
      lastVerification(this.engines(), name, sample),
    );
  }

  /** Executes a verb, which is recorded. */
  async act(name: keyof typeof VERBS, caller: Caller, asked: VerbKeys): Promise<Answer> {
    const { action, work, isLong }: Verb = VERBS[name];
    const { notifyKeep: keepMs, rollbackWithin: retainMs, rebuilding } = this.parts;
    const by = operatorText(callerOf(caller));
    const options = { keepMs, retainMs, signal: this.stop.signal, rebuilding, by };
    const recorded = (todo: ActionWork) => this.actions.of(caller, action, asked, todo);
    const todo = (engines: ProjectedEngines) => work(engines, asked, options);
    await (isLong === true ? this.begin(asked, recorded, todo) : recorded(todo));
    return Answer.none({ position: await this.log.head() });
  }

  /**
   * Begins what may take long, and is recorded: it is accepted, and waits until what was begun before has ended. What
   * fails before is answered; a later failure is noted for the list. What waits when the process stops is not begun.
   */
  private async begin(
    keys: VerbKeys,
    act: (work: ActionWork) => Promise<unknown>,
    work: (engines: ProjectedEngines) => Promise<unknown>,
  ): Promise<void> {
    projectionsNamed(...keys.name);
    if (this.begun === MOST_BEGUN)
      throw fault.conflict(`${MOST_BEGUN} rebuilds and comparisons have begun in this process: wait for one`);
    this.begun += 1;
    const before = this.working;
    await new Promise<void>((resolve, reject) => {
      const turn = async (): Promise<void> => {
        resolve();
        await before;
        if (this.stop.signal.aborted) throw fault.conflict('the server has stopped: ask for it again');
      };
      const ended = act(async (engines, record) => {
        await record();
        await turn();
        return await work(engines);
      })
        .catch(reject)
        .then(() => {
          this.begun -= 1;
        });
      this.working = Promise.all([before, ended]).then(() => undefined);
    });
  }

  private engines(): ProjectedEngines {
    return { log: this.log, store: this.store, deliveries: () => this.parts.deliveries() };
  }
}

/** Each verb as a handler: `POST /ops/1.0/projections/pause;name=…`. */
for (const name of Object.keys(VERBS) as (keyof typeof VERBS)[]) {
  const { operation, keys } = VERBS[name];
  const handler = async function (this: ProjectionsController, caller: Caller, asked: VerbKeys) {
    return await this.act(name, caller, asked);
  };
  Object.defineProperty(handler, 'name', { value: name });
  const [controller, descriptor] = [ProjectionsController.prototype, { value: handler, configurable: true }];
  Object.defineProperty(controller, name, descriptor);
  for (const decorate of [Post(name), ApiOperation(operation)]) decorate(controller, name, descriptor);
  for (const [at, decorate] of [CurrentCaller(), MatrixKeys(keys)].entries()) decorate(controller, name, at);
}
