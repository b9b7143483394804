import { Controller, Get, Post } from '@nestjs/common';
import { Answer, ListAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { defined } from '../../kernel/values';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { boolean, integer, text } from '../../wire/record/kinds';
import { type AnswerOf, listOf, record } from '../../wire/record/record';
import { operatorText } from '../actions';
import { type ExplainedParked, explainParked, parkedIn, retry, skip } from '../parked';
import { callerOf, OperatorActions } from './actions.controller';
import { REASON, REQUIRED_REASON } from './operator-service';

const IN = {
  type: TEXT,
  description: 'Read model, matcher, automations or directory; by default all',
} as const;

const listKeys = { name: IN } as const satisfies KeyTable;

const retryKeys = {
  name: IN,
  id: { type: TEXT, description: 'Only this one, as the list has it' },
  ...REASON,
} as const satisfies KeyTable;

const skipKeys = {
  name: { ...IN, required: true, description: 'Read model, or matcher' },
  id: { ...retryKeys.id, required: true, description: 'What is parked, as the list has it' },
  ...REQUIRED_REASON,
} as const satisfies KeyTable;

const optional = { optional: true } as const;

const parked = record(
  {
    name: { kind: text(), description: 'Read model, matcher, automations or directory' },
    id: { kind: text(), description: 'Id of the document, or stream and number of the event' },
    what: {
      kind: text(),
      description: 'What it is: a product with its feed and name, a voucher',
      example: 'voucher 7',
    },
    next: {
      kind: text(),
      description: 'What to do, with the command',
      example: '`affilog parked retry vouchers 7` retries it',
    },
    stream: { kind: text(), description: 'Stream of the event that cannot be used' },
    position: { kind: text(), ...optional, description: 'Its log position' },
    revision: { kind: integer(), ...optional, description: 'Its revision in the stream' },
    event: { kind: text(), ...optional, description: 'Its id' },
    type: { kind: text(), ...optional, description: 'Its type' },
    error: { kind: text(), description: 'Why it cannot be used' },
    retryRequested: { kind: boolean(), description: 'It is retried at the next opportunity' },
  },
  { name: 'ParkedDocument' },
);

const PARKED = { name: 'ParkedDocuments', kind: listOf(parked, { each: 'parked' }) } as const satisfies Shape;

/** `docs/decisions.md#x47`, `#x130`. */
export const parkedOperations = operationsById({
  listParked: {
    summary: 'List what is parked',
    description:
      'Documents that an event could not be folded into, and events that cannot be used, with the error.',
    answer: PARKED,
  },
  retryParked: {
    summary: 'Retry what is parked',
    description: 'All of it, that of a read model, or one document or event.',
    example: { name: 'vouchers' },
  },
  skipParked: {
    summary: 'Skip the event at which something is parked',
    description: 'The read model, or the matcher, leaves it out permanently.',
    example: { name: 'claim-batches', id: '1', reason: 'written by another program' },
  },
});

/** Parked documents and events: the same functions as `affilog parked`. */
@Controller('/ops/1.0/parked')
@Roles(['operator'])
@Produces(['json'])
export class ParkedController {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly clock: Clock,
    private readonly actions: OperatorActions,
  ) {}

  @Get()
  @ApiOperation(parkedOperations.listParked)
  list(@MatrixKeys(listKeys) { name = 'all' }: Keys<typeof listKeys>): ListAnswer {
    return ListAnswer.of(parkedOperations.listParked, async () => {
      const engines = { log: this.log, store: this.store };
      const found = await explainParked(engines, await parkedIn(engines, name));
      return { items: [found.map(toOutput)], total: found.length };
    });
  }

  @Post('retry')
  @ApiOperation(parkedOperations.retryParked)
  async retry(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(retryKeys) keys: Keys<typeof retryKeys>,
  ): Promise<Answer> {
    const { name = 'all', id } = keys;
    const at = this.clock.now().toISOString();
    await this.actions.of(caller, 'parked retry', keys, (engines) => retry(engines, name, id, at));
    return Answer.none({ position: await this.log.head() });
  }

  @Post('skip')
  @ApiOperation(parkedOperations.skipParked)
  async skip(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(skipKeys) keys: Keys<typeof skipKeys>,
  ): Promise<Answer> {
    const decision = {
      reason: keys.reason,
      by: operatorText(callerOf(caller)),
      at: this.clock.now().toISOString(),
    };
    await this.actions.of(caller, 'parked skip', keys, (engines) => skip(engines, keys, decision));
    return Answer.none({ position: await this.log.head() });
  }
}

function toOutput({ name, id, what, next, entry }: ExplainedParked): AnswerOf<typeof parked> {
  const { stream, error, code, position, revision, event, type } = entry as Partial<Record<string, never>> &
    typeof entry;
  const [reason = ''] = error.split('\n', 1);
  return defined({
    name,
    id,
    what,
    next,
    stream,
    position,
    revision,
    event,
    type,
    error: reason,
    retryRequested: code === '',
  });
}
