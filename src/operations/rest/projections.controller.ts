import { Controller, Get, Injectable, type OnModuleDestroy, Post } from '@nestjs/common';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { type Caller } from '../../network/organisations';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { BOOLEAN, INTEGER, type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { amount, boolean, integer, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { type Config } from '../../settings/config';
import { type ActionName } from '../actions';
import { pauseReadModels, readModelStates, type ReadModelState, resumeReadModels } from '../projections';
import {
  discardGenerations,
  lastVerification,
  type ProjectedEngines,
  projectionsNamed,
  rebuildProjections,
  swapProjections,
  verifyProjections,
} from '../rebuild';
import { translated } from './as-of.controller';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, REASON } from './operator-service';

/** What the controller is given. */
@Injectable()
export abstract class ProjectionParts {
  /** The log of deliveries, opened when it is first needed. */
  abstract readonly deliveries: ProjectedEngines['deliveries'];
  abstract readonly notifyKeep: Config['notifyKeep'];
  abstract readonly rollbackWithin: Config['rollbackWithin'];
}

/** Smaller than those of `affilog rebuild`: a server rebuilds beside requests. */
const BATCH = 500;

/** What is under way, and what waits. */
const MOST_BEGUN = 10;

const NAMES = 'Read models, such as products';

const listKeys = {
  name: { type: TEXT, multiple: true, description: `${NAMES}; all by default` },
} as const satisfies KeyTable;

const NAMED = { type: TEXT, multiple: true, required: true, description: `${NAMES}, or all` } as const;

const nameKeys = { name: NAMED, ...REASON } as const satisfies KeyTable;

const forceKeys = {
  ...nameKeys,
  force: { type: BOOLEAN, description: 'true: despite parked documents' },
} as const satisfies KeyTable;

const rebuildKeys = {
  ...nameKeys,
  force: { type: BOOLEAN, description: 'true: swap in despite differences and parked documents' },
  swap: { type: BOOLEAN, description: 'false: leave them ready to be swapped in; default true' },
} as const satisfies KeyTable;

const verifyKeys = {
  ...nameKeys,
  sample: { type: INTEGER, description: 'Only about so many documents of each' },
} as const satisfies KeyTable;

const oneKeys = {
  name: { type: TEXT, required: true, description: 'Read model, such as products' },
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
  events: { kind: integer(), description: 'Events that were read' },
  total: { kind: integer(), description: 'Estimated number of all' },
  rate: { kind: integer(), description: 'Events per second' },
  end: { kind: text(), description: 'When it is expected to end, ISO 8601' },
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
  'Answers once it has begun, in the process that answers, one after the other: the list says how far it is, and why the ' +
  'last one failed. ';

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
    summary: 'Compare read models with what the log says',
    description: `${BEGUN}New generations are built, compared with the live ones at the same position, and dropped.`,
    example: { name: ['vouchers'] },
  },
  getVerification: {
    summary: 'Get what the last comparison of a read model has found',
    description: 'The documents that differ, with both bodies.',
    example: { name: 'vouchers' },
    answer: VERIFICATION,
  },
  swapProjections: {
    summary: 'Make generations live that are ready',
    description: 'Those that a rebuild with `swap=false` has built. What was live is kept for a rollback.',
    example: { name: ['feeds'] },
  },
  rollbackProjections: {
    summary: 'Make former generations live again',
    description: 'They were followed since they were replaced. What was live is kept in their place.',
    example: { name: ['feeds'] },
  },
  discardGenerations: {
    summary: 'Drop what is beside the live generations',
    description: 'Former generations, those that are ready, and what interrupted rebuilds have left.',
    example: { name: ['vouchers'] },
  },
});

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
      const states: readonly ReadModelState[] = await translated(() =>
        readModelStates(this.engines(), SYSTEM_CLOCK, name),
      );
      return { items: [states], total: states.length };
    });
  }

  @Post('pause')
  @ApiOperation(projectionOperations.pauseProjections)
  async pause(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(nameKeys) keys: Keys<typeof nameKeys>,
  ): Promise<Answer> {
    return await this.act(caller, 'projections pause', keys, (engines) =>
      pauseReadModels(engines, keys.name, SYSTEM_CLOCK),
    );
  }

  @Post('resume')
  @ApiOperation(projectionOperations.resumeProjections)
  async resume(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(nameKeys) keys: Keys<typeof nameKeys>,
  ): Promise<Answer> {
    return await this.act(caller, 'projections resume', keys, (engines) =>
      resumeReadModels(engines, keys.name),
    );
  }

  @Post('rebuild')
  @ApiOperation(projectionOperations.rebuildProjections)
  async rebuild(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(rebuildKeys) keys: Keys<typeof rebuildKeys>,
  ): Promise<Answer> {
    const { name, force = false, swap = true } = keys;
    const options = { ...this.options(), force, then: swap ? 'swap' : 'keep' } as const;
    return await this.begin(caller, 'rebuild', keys, (engines) => rebuildProjections(engines, name, options));
  }

  @Post('verify')
  @ApiOperation(projectionOperations.verifyProjections)
  async verify(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(verifyKeys) keys: Keys<typeof verifyKeys>,
  ): Promise<Answer> {
    const { name, sample } = keys;
    if (sample !== undefined && sample < 1)
      throw fault.unusable(`sample=${sample}: expected a number of documents of at least 1`);
    return await this.begin(caller, 'projections verify', keys, (engines) =>
      verifyProjections(engines, name, { ...this.options(), most: sample }),
    );
  }

  @Get('verification')
  @ApiOperation(projectionOperations.getVerification)
  verification(@MatrixKeys(oneKeys) { name }: Keys<typeof oneKeys>): QueuedAnswer {
    return QueuedAnswer.of(projectionOperations.getVerification, async () => {
      const found = await translated(() => lastVerification(this.engines(), name));
      if (found === undefined) throw fault.notFound(`${name} has not been compared yet`);
      return found;
    });
  }

  @Post('swap')
  @ApiOperation(projectionOperations.swapProjections)
  async swap(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(forceKeys) keys: Keys<typeof forceKeys>,
  ): Promise<Answer> {
    return await this.swapTo('ready', caller, 'projections swap', keys);
  }

  @Post('rollback')
  @ApiOperation(projectionOperations.rollbackProjections)
  async rollback(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(forceKeys) keys: Keys<typeof forceKeys>,
  ): Promise<Answer> {
    return await this.swapTo('kept', caller, 'projections rollback', keys);
  }

  @Post('discard')
  @ApiOperation(projectionOperations.discardGenerations)
  async discard(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(nameKeys) keys: Keys<typeof nameKeys>,
  ): Promise<Answer> {
    return await this.act(caller, 'projections discard', keys, (engines) =>
      discardGenerations(engines, keys.name),
    );
  }

  private async swapTo(
    kind: 'ready' | 'kept',
    caller: Caller,
    action: ActionName,
    keys: Keys<typeof forceKeys>,
  ): Promise<Answer> {
    const { retainMs, signal } = this.options();
    const options = { force: keys.force, retainMs, signal };
    return await this.act(caller, action, keys, (engines) =>
      swapProjections(engines, keys.name, kind, options),
    );
  }

  private async act(
    caller: Caller,
    action: ActionName,
    keys: Keys<typeof nameKeys>,
    work: (engines: ProjectedEngines) => Promise<unknown>,
  ): Promise<Answer> {
    await translated(() => this.actions.of(caller, action, keys, (engines) => work(this.engines(engines))));
    return await this.done();
  }

  /**
   * Begins what may take long, and is recorded: it is accepted, and waits until what was begun before has ended. What fails
   * before is answered; a later failure is noted for the list. What waits when the process stops is not begun.
   */
  private async begin(
    caller: Caller,
    action: ActionName,
    keys: Keys<typeof nameKeys>,
    work: (engines: ProjectedEngines) => Promise<unknown>,
  ): Promise<Answer> {
    await translated(async () => projectionsNamed(...keys.name));
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
      const ended = this.actions
        .of(caller, action, keys, async (engines, record) => {
          await record();
          await turn();
          return await work(this.engines(engines));
        })
        .catch(reject)
        .then(() => {
          this.begun -= 1;
        });
      this.working = Promise.all([before, ended]).then(() => undefined);
    });
    return await this.done();
  }

  private async done(): Promise<Answer> {
    return Answer.none({ position: await this.log.head() });
  }

  private options() {
    const { notifyKeep: keepMs, rollbackWithin: retainMs } = this.parts;
    return { keepMs, retainMs, signal: this.stop.signal, batchSize: BATCH } as const;
  }

  private engines(
    { log, store }: Pick<ProjectedEngines, 'log' | 'store'> = { log: this.log, store: this.store },
  ): ProjectedEngines {
    return { log, store, deliveries: this.parts.deliveries };
  }
}
