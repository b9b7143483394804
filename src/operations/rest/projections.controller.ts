import { Controller, Get, Injectable, Post } from '@nestjs/common';
import { Answer, ListAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { amount, boolean, integer, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { pauseReadModels, readModelStates, type ReadModelState, resumeReadModels } from '../projections';
import { type ProjectedEngines } from '../rebuild';
import { translated } from './as-of.controller';

/** What the controller is given. */
@Injectable()
export abstract class ProjectionParts {
  /** The log of deliveries, opened when it is first needed. */
  abstract readonly deliveries: ProjectedEngines['deliveries'];
}

const NAMES = 'Read models, such as products';

const listKeys = {
  name: { type: TEXT, multiple: true, description: `${NAMES}; all by default` },
} as const satisfies KeyTable;

const nameKeys = {
  name: { type: TEXT, multiple: true, required: true, description: `${NAMES}, or all` },
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
  purpose: { kind: text(), description: 'rebuild, verify or dry run' },
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
  },
  { name: 'ReadModelState' },
);

const STATES = {
  name: 'ReadModelStates',
  kind: listOf(stateRecord, { each: 'readModel' }),
} as const satisfies Shape;

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
});

/** Read models for operators: the same functions as `affilog projections`. */
@Controller('/ops/1.0/projections')
@Roles(['operator'])
@Produces(['json'])
export class ProjectionsController {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly parts: ProjectionParts,
  ) {}

  @Get()
  @ApiOperation(projectionOperations.listProjections)
  list(@MatrixKeys(listKeys) { name = ['all'] }: Keys<typeof listKeys>): ListAnswer {
    return ListAnswer.of(projectionOperations.listProjections, async () => {
      const states: readonly ReadModelState[] = await translated(() =>
        readModelStates(this.engines(), SYSTEM_CLOCK, name),
      );
      return { items: [states], total: states.length };
    });
  }

  @Post('pause')
  @ApiOperation(projectionOperations.pauseProjections)
  async pause(@MatrixKeys(nameKeys) { name }: Keys<typeof nameKeys>): Promise<Answer> {
    await translated(() => pauseReadModels(this.engines(), name, SYSTEM_CLOCK));
    return Answer.none({ position: await this.log.head() });
  }

  @Post('resume')
  @ApiOperation(projectionOperations.resumeProjections)
  async resume(@MatrixKeys(nameKeys) { name }: Keys<typeof nameKeys>): Promise<Answer> {
    await translated(() => resumeReadModels(this.engines(), name));
    return Answer.none({ position: await this.log.head() });
  }

  private engines(): ProjectedEngines {
    return { log: this.log, store: this.store, deliveries: this.parts.deliveries };
  }
}
