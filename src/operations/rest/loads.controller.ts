import { Controller, Get, type OnModuleDestroy, Param, Post } from '@nestjs/common';
import { lastImports } from '../../../projections/imports';
import { IMPORT_REPORT, importsText } from '../../domain/products/import-report';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { WaitForReadModels } from '../../http/visible-writes';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { INTEGER, type Keys, TEXT } from '../../wire/keys/keys';
import { integer, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { loadHistory, undoLoad, undoPlan } from '../undo-load';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, REQUIRED_REASON, OneAtATime } from './operator-service';
import { ServerPlace } from './server.controller';

const count = (description: string) => ({ kind: integer(), description });

const PLAN = {
  name: 'RestorePlan',
  kind: record({
    loadId: { kind: text(), description: 'The load' },
    at: { kind: text(), description: 'When it ended, ISO 8601' },
    what: { kind: text(), description: 'update, replace or deletion' },
    new: count('Products that are listed again'),
    revised: count('Products that are changed back'),
    repriced: count('Products of which only the price is changed back'),
    removed: count('Products that are removed'),
    products: {
      kind: listOf(
        record({
          sourceProductId: { kind: text(), description: 'Product' },
          change: { kind: text(), description: 'new, revised, repriced or removed' },
        }),
        { each: 'product' },
      ),
      description: 'The first 20',
    },
    changedAgain: count('Products that later loads have changed: they are left alone'),
    leftAlone: { kind: listOf(text(), { each: 'sourceProductId' }), description: 'The first 20 of them' },
  }),
} as const satisfies Shape;

const RESTORED = {
  name: 'RestoredLoad',
  kind: record({
    loadId: {
      kind: text(),
      optional: true,
      description: 'The load that undid it; absent if nothing was left to undo',
    },
    new: count('Products that were listed again'),
    revised: count('Products that were changed back'),
    repriced: count('Products of which only the price was changed back'),
    removed: count('Products that were removed'),
  }),
} as const satisfies Shape;

const FEED = { feedId: { type: INTEGER, description: 'Feed', example: 1001 } };
const LOAD = {
  ...FEED,
  loadId: {
    type: TEXT,
    description: 'Id of the load, as the list has it',
    example: '0b8f9d52-0000-4000-8000-000000000000',
  },
};

/** Of a feed whose plans are made beside other requests: reading them takes seconds, and memory for each product. */
const MOST_EVENTS = 5_000_000;

/** `docs/decisions.md#x89`, `#x130`. */
export const loadOperations = operationsById({
  listAnyImports: {
    summary: 'List the outcomes of the last posts to any feed',
    path: FEED,
    answer: IMPORT_REPORT,
  },
  getRestorePlan: {
    summary: 'Get what undoing a load or a deletion would change',
    path: LOAD,
    answer: PLAN,
  },
  restoreFeed: {
    summary: 'Undo a load or a deletion',
    description:
      'Brings back what was in the feed before it, without products that have changed since. Answers when it is done; one ' +
      'at a time. What was interrupted is completed by asking again.',
    example: { reason: 'the wrong file was loaded' },
    path: LOAD,
    answer: RESTORED,
  },
});

/** Loads of all feeds: the same functions as `affilog feeds`. */
@Controller('/ops/1.0/feeds/:feedId/loads')
@Roles(['operator'])
@Produces(['json'])
export class LoadsController implements OnModuleDestroy {
  private readonly stop = new AbortController();
  private readonly plans = new OneAtATime();
  private isUnderWay = false;

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly clock: Clock,
    private readonly follower: FollowedDirectory,
    private readonly readModels: WaitForReadModels,
    private readonly place: ServerPlace,
    private readonly actions: OperatorActions,
  ) {}

  /** A stop does not wait: asked again, it continues. */
  onModuleDestroy(): void {
    this.stop.abort();
    this.plans.end();
  }

  @Get()
  @ApiOperation(loadOperations.listAnyImports)
  list(@Param('feedId') sent: string): ListAnswer {
    const feedId = this.feedIn(sent);
    return ListAnswer.written(importsText, async (query) => ({
      items: await lastImports(this.store, feedId, query),
    }));
  }

  @Get(':loadId')
  @ApiOperation(loadOperations.getRestorePlan)
  plan(@Param('feedId') sent: string, @Param('loadId') loadId: string): QueuedAnswer {
    const load = { feedId: this.feedIn(sent), loadId };
    const { clock, log } = this;
    return QueuedAnswer.of(loadOperations.getRestorePlan, (query) =>
      this.plans.run(query.signal, async (signal) =>
        undoPlan(clock, await loadHistory(clock, { log }, load, { signal, most: MOST_EVENTS }), signal),
      ),
    );
  }

  @Post(':loadId/restore')
  @ApiOperation(loadOperations.restoreFeed)
  async restore(
    @CurrentCaller() caller: Caller,
    @Param('feedId') sent: string,
    @Param('loadId') loadId: string,
    @MatrixKeys(REQUIRED_REASON) { reason }: Keys<typeof REQUIRED_REASON>,
  ): Promise<Answer> {
    const load = { feedId: this.feedIn(sent), loadId };
    if (this.isUnderWay) throw fault.conflict('another load is being undone by this process: wait for it');
    this.isUnderWay = true;
    try {
      const { signal } = this.stop;
      const history = await loadHistory(this.clock, { log: this.log }, load, { signal });
      const { leases, config } = this.place;
      const options = { clock: this.clock, dataDir: config.dataDir, signal };
      const restored = await this.actions.of(caller, 'feeds restore', { ...load, reason }, ({ log }) =>
        undoLoad({ log, leases }, load, history, options),
      );
      const { new: listed, revised, repriced, removed } = restored.tally;
      const position = await this.log.head();
      await this.readModels.afterWrite(
        { position, changes: listed + revised + repriced + removed },
        { readModels: 'loads' },
      );
      const done = restored.loadId === undefined ? {} : { loadId: restored.loadId };
      return Answer.of(
        loadOperations.restoreFeed,
        { ...done, new: listed, revised, repriced, removed },
        { position },
      );
    } finally {
      this.isUnderWay = false;
    }
  }

  private feedIn(sent: string): number {
    const id = /^\d{1,15}$/.test(sent) ? Number(sent) : NaN;
    if (this.follower.directory.feed(id) !== undefined) return id;
    throw fault.notFound(`feedId=${sent.slice(0, 100)}: expected the id of a feed`);
  }
}
