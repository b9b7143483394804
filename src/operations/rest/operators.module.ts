import { Controller, type DynamicModule, Get, Module, Res } from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import { FailureCounts } from '../../http/failure-filter';
import { anyDeliveriesController } from '../../services/subscriptions/deliveries.controller';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { ProductSettings } from '../../services/products/product.queries';
import { VoucherSettings } from '../../services/vouchers/voucher.queries';
import { PastViews } from '../as-of';
import { Clock } from '../../runtime/clock';
import { ActionsController, OperatorActions } from './actions.controller';
import { BackupPlace, BackupsController } from './backups.controller';
import { AsOfController } from './as-of.controller';
import { NetworkClaimsController } from './claims.controller';
import { DirectoryController } from './directory.controller';
import { HistoryController } from './history.controller';
import { LoadsController } from './loads.controller';
import { LogController, EventSchemasController } from './log.controller';
import { MappingsController } from './mappings.controller';
import { Metrics, MetricsController } from './metrics.controller';
import { NotificationsController } from './notifications.controller';
import { operatorFaults } from './operator-service';
import { ParkedController } from './parked.controller';
import { ProjectionParts, ProjectionsController } from './projections.controller';
import { AnySourcesController } from './sources.controller';
import { ServerController, ServerPlace } from './server.controller';
import { WhyController } from './why.controller';
import { SQL, SqlController } from './sql.controller';
import { type AnswerSql } from '../sql/remote';

interface ReadinessState {
  /** Why requests should not be sent yet, by the part that is not ready; empty when all are. */
  readonly waiting: Readonly<Record<string, string>>;
  /** Parked documents; absent when the read store is unavailable. */
  readonly parked?: number;
  /** For how many seconds the read models have been behind the log; absent if that cannot be known. */
  readonly behind?: number;
  /** Read models that an operator has paused, since when, and what continues them; absent if there are none. */
  readonly paused?: string;
  /** Why the projector of this process makes no progress; absent while it does, and without a projector. */
  readonly projector?: string;
  /** The same of automations. */
  readonly automation?: string;
  /** Why no notifications are sent, or their secrets cannot be answered. */
  readonly notifier?: string;
}

export type Readiness = () => Promise<ReadinessState>;

/** The container's token for a `Readiness`. */
abstract class HealthCheck {
  abstract readonly readiness: Readiness;
}

/** For those who start, monitor and stop processes; needs no token. */
@Controller('/health')
class HealthController {
  constructor(
    private readonly health: HealthCheck,
    private readonly failures: FailureCounts,
  ) {}

  @Get('live')
  live(): object {
    return { status: 'ok' };
  }

  /**
   * 503 until log, read models and directory have caught up; then 200, `degraded` if a role makes no
   * progress or one is paused.
   */
  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<object> {
    const { waiting, ...facts } = await this.health.readiness();
    const { unexpectedFailures } = this.failures;
    const { paused, projector, automation, notifier } = facts;
    const status = (paused ?? projector ?? automation ?? notifier) === undefined ? 'ok' : 'degraded';
    if (Object.keys(waiting).length === 0) return { status, ...facts, unexpectedFailures };
    reply.code(503).header('Retry-After', 1);
    return { status: 'waiting', waiting, ...facts, unexpectedFailures };
  }
}

/** For operators: health, category mappings, deliveries, claims, the log, operators' actions, and the past. */
@Module({})
export class OperatorsModule {
  static with(
    { readiness, metrics }: { readonly readiness: Readiness; readonly metrics: Metrics },
    sql: AnswerSql,
    parts: ProductSettings & VoucherSettings & BackupPlace & ProjectionParts & ServerPlace,
  ): DynamicModule {
    return {
      module: OperatorsModule,
      controllers: [
        HealthController,
        MappingsController,
        ActionsController,
        BackupsController,
        anyDeliveriesController(operatorFaults.unusable),
        NetworkClaimsController,
        EventSchemasController,
        DirectoryController,
        LogController,
        WhyController,
        SqlController,
        HistoryController,
        AsOfController,
        ProjectionsController,
        MetricsController,
        ServerController,
        ParkedController,
        NotificationsController,
        LoadsController,
        AnySourcesController,
      ],
      providers: [
        { provide: HealthCheck, useValue: { readiness } satisfies HealthCheck },
        { provide: Metrics, useValue: metrics },
        { provide: SQL, useValue: sql },
        {
          provide: PastViews,
          useFactory: (log: EventLog, store: ReadStore) => new PastViews(log, store),
          inject: [EventLog, ReadStore],
        },
        {
          provide: OperatorActions,
          useFactory: (log: EventLog, store: ReadStore, clock: Clock) =>
            new OperatorActions(log, store, () => parts.deliveries(), clock),
          inject: [EventLog, ReadStore, Clock],
        },
        { provide: BackupPlace, useValue: parts },
        { provide: ProductSettings, useValue: parts },
        { provide: VoucherSettings, useValue: parts },
        { provide: ProjectionParts, useValue: parts },
        { provide: ServerPlace, useValue: parts },
      ],
    };
  }
}
