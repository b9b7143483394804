import { Controller, Get } from '@nestjs/common';
import { ListAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { defined } from '../../kernel/values';
import { fingerprintOf } from '../../network/changes';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { INTEGER, type Keys, type KeyTable, oneOf } from '../../wire/keys/keys';
import { atLeast, sizeKey, sizeOf } from '../../wire/keys/pages';
import { integer, text, wordOf } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import {
  acting,
  type ActionName,
  ACTIONS,
  listActions,
  type ListedAction,
  type ActionAuthor,
  operatorText,
} from '../actions';
import { type ProjectedEngines } from '../rebuild';
import { operatorFaults as fault } from './operator-service';

/** What requests of operators do: each is recorded in the log (`docs/decisions.md#x117`). */
export class OperatorActions {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly deliveries: ProjectedEngines['deliveries'],
    private readonly clock: Clock,
  ) {}

  /** Does what `caller` asks for, with engines that record it. Raises faults of operators. */
  async of<Result>(
    caller: Caller,
    action: ActionName,
    { reason, ...asked }: Readonly<Record<string, unknown>> & { readonly reason: string | undefined },
    work: (engines: ProjectedEngines, begin: () => Promise<void>) => Promise<Result>,
  ): Promise<Result> {
    const by = callerOf(caller);
    const values = Object.entries(asked).filter(([, value]) => value !== undefined);
    const texts = Object.fromEntries(values.map(([name, value]) => [name, String(value)]));
    const engines = { log: this.log, store: this.store, deliveries: this.deliveries };
    return await acting(this.clock, engines, { name: action, by, reason, asked: texts }, work);
  }
}

/** An operator, by the fingerprint of the token. */
export function callerOf({ tokenHash: hash, organisationId }: Caller): ActionAuthor {
  return { token: fingerprintOf({ hash }), organisationId };
}

const actionKeys = {
  action: { type: oneOf(...Object.keys(ACTIONS)), multiple: true, description: 'Only these' },
  limit: sizeKey('Number of actions', '100 by default'),
  before: { type: INTEGER, description: 'Only those with a lower number' },
} as const satisfies KeyTable;

const LISTED = {
  name: 'OperatorActions',
  kind: listOf(
    record(
      {
        number: { kind: integer(), description: 'By which the list is continued (before)' },
        time: { kind: text(), description: 'When it began, ISO 8601' },
        action: { kind: text(), description: 'The command that does it' },
        by: { kind: text(), description: 'The user of the shell, or the fingerprint of the token' },
        reason: { kind: text(), description: 'Why', optional: true },
        asked: {
          kind: listOf(
            record({
              name: { kind: text(), description: 'Name of an argument, option or key' },
              value: { kind: text(), description: 'Its value' },
            }),
            { each: 'value' },
          ),
          description: 'What was asked for',
        },
        state: {
          kind: wordOf('done', 'failed', 'unfinished'),
          description: '`unfinished`: in progress, or its process was killed',
        },
        ended: { kind: text(), description: 'When it ended, ISO 8601', optional: true },
        failure: { kind: text(), description: 'Why it failed', optional: true },
      },
      { name: 'OperatorAction' },
    ),
    { each: 'action' },
  ),
} as const satisfies Shape;

/** What operators have done (`docs/decisions.md#x117`). */
export const actionOperations = operationsById({
  listActions: {
    summary: 'List what operators have done',
    description: 'By the command line and over HTTP: when, who, what, and why; the last action first.',
    example: { limit: 3 },
    answer: LISTED,
  },
});

/** The same function as `affilog actions`. */
@Controller('/ops/1.0/actions')
@Roles(['operator'])
@Produces(['json'])
export class ActionsController {
  constructor(private readonly log: EventLog) {}

  @Get()
  @ApiOperation(actionOperations.listActions)
  list(@MatrixKeys(actionKeys) { action, limit, before }: Keys<typeof actionKeys>): ListAnswer {
    return ListAnswer.of(actionOperations.listActions, async () => {
      const most = sizeOf('limit', limit, fault.unusable, 100);
      const number = before === undefined ? undefined : atLeast(0, 'before', before, fault.unusable);
      const listed = await listActions(this.log, { actions: action, most, before: number });
      return { items: [listed.map(toOutput)], requested: limit };
    });
  }
}

function toOutput({ by, asked, ...action }: ListedAction) {
  return defined({
    ...action,
    by: operatorText(by),
    asked: Object.entries(asked).map(([name, value]) => ({ name, value })),
  });
}
