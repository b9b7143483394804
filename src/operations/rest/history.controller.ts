import { Controller, Get, Param } from '@nestjs/common';
import { ListAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { FollowedDirectory } from '../../network/follower';
import { operationsById, type Shape } from '../../wire/api/description';
import { INTEGER, type Keys, type KeyTable, oneOf, TEXT } from '../../wire/keys/keys';
import { atLeast } from '../../wire/keys/pages';
import { integer, object, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { historyOf } from '../history/history';
import { HISTORY_KINDS, type HistorySubject, productNamed } from '../history/subjects';
import { operatorFaults as fault } from './operator-service';

const pointKeys = {
  at: { type: TEXT, description: 'Only what it was at this time; a date includes its day (UTC)' },
  position: { type: TEXT, description: 'Only what it was at this position of the log' },
  version: { type: INTEGER, description: 'Only what it was after so many of its events' },
  after: { type: INTEGER, description: 'Only what came after this version; together with `limit`' },
  limit: { type: INTEGER, description: 'Number of events; by default all' },
  diff: {
    type: TEXT,
    multiple: true,
    description: 'Only what differs between two points: versions, positions (p1234), or times',
  },
} as const satisfies KeyTable;

const optional = { optional: true } as const;

const entry = record(
  {
    version: { kind: integer(), ...optional, description: 'Number of the event, from 1' },
    time: { kind: text(), ...optional, description: 'When it happened, ISO 8601' },
    position: { kind: text(), ...optional, description: 'Position of the event in the log' },
    event: { kind: text(), ...optional, description: 'Type of the event' },
    by: {
      kind: text(),
      ...optional,
      description: 'Who has caused it, as far as events record it: system, operator, or an organisation',
    },
    stream: { kind: text(), ...optional, description: 'Stream of the event' },
    revision: { kind: integer(), ...optional, description: 'Its revision there' },
    changes: { kind: object(), description: 'By the name of each field that has changed, before and after' },
    state: { kind: object(), ...optional, description: 'What it is then; absent once it is removed' },
    problem: { kind: text(), ...optional, description: 'Why the event could not be used' },
    from: { kind: object(), ...optional, description: 'Of a difference: version, time and position' },
    to: { kind: object(), ...optional, description: 'Of a difference: version, time and position' },
  },
  { name: 'HistoryEntry' },
);

const HISTORY = { name: 'History', kind: listOf(entry, { each: 'entry' }) } as const satisfies Shape<
  ReturnType<typeof listOf<typeof entry>>
>;

const DESCRIPTION =
  'An entry for each of its events: who, when, what has changed, and what it was then. Or one entry: what it was at a ' +
  'point, or what differs between two.';

const KIND = oneOf('product', ...HISTORY_KINDS);

/** `docs/decisions.md#x109`. */
export const historyOperations = operationsById({
  getProductHistory: {
    summary: 'Get the history of a product',
    description: DESCRIPTION,
    path: {
      feedId: { type: INTEGER, description: 'Feed', example: 1001 },
      sourceProductId: { type: TEXT, description: 'The advertiser’s id', example: 'hello-1' },
    },
    answer: HISTORY,
  },
  getHistory: {
    summary: 'Get the history of a product, voucher, transaction, claim, subscription, feed or program',
    description: DESCRIPTION,
    path: {
      kind: { type: KIND, description: 'Kind of thing', example: 'feed' },
      id: {
        type: TEXT,
        description:
          'Its id; of a product `<feedId>-<sourceProductId>`, of a claim also its order number, of a transaction its legacyTransactionId or order number',
        example: '1001',
      },
    },
    answer: HISTORY,
  },
});

/** Histories for analysts (`docs/decisions.md#x109`): the same functions as `affilog history`. */
@Controller('/ops/1.0/history')
@Roles(['operator'])
@Produces(['json'])
export class HistoryController {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly follower: FollowedDirectory,
  ) {}

  @Get('product/:feedId/:sourceProductId')
  @ApiOperation(historyOperations.getProductHistory)
  product(
    @Param('feedId') feedId: string,
    @Param('sourceProductId') sourceProductId: string,
    @MatrixKeys(pointKeys) points: Keys<typeof pointKeys>,
  ): ListAnswer {
    return this.answer({ kind: 'product', feedId, sourceProductId }, points);
  }

  @Get(':kind/:id')
  @ApiOperation(historyOperations.getHistory)
  one(
    @Param('kind') sent: string,
    @Param('id') id: string,
    @MatrixKeys(pointKeys) points: Keys<typeof pointKeys>,
  ): ListAnswer {
    const kind = KIND.read(sent);
    if (kind === undefined) throw fault.notFound(`${sent.slice(0, 100)}: expected ${KIND.expected}`);
    return this.answer(kind === 'product' ? productNamed(id) : { kind, id }, points);
  }

  private answer(subject: HistorySubject, points: Keys<typeof pointKeys>): ListAnswer {
    return ListAnswer.of(historyOperations.getHistory, async ({ signal }) => {
      atLeast(1, 'limit', points.limit, fault.unusable);
      atLeast(0, 'after', points.after, fault.unusable);
      const parts = { log: this.log, store: this.store, directory: this.follower.directory };
      return { items: singly(await historyOf(parts, subject, points, signal)) };
    });
  }
}

async function* singly<Item>(items: AsyncIterable<Item> | Iterable<Item>): AsyncGenerator<readonly Item[]> {
  for await (const item of items) yield [item];
}
