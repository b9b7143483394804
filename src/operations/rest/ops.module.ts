import { type DynamicModule, Module } from '@nestjs/common';
import { NetworkClaimsController } from './claims.controller';
import { anyDeliveriesController } from '../../services/subscriptions/any-deliveries.controller';
import { HealthCheck, HealthController, type Readiness } from './health.controller';
import { MappingsController } from './mappings.controller';
import { opsFaults } from './ops-service';

/** For operators: health, category mappings, deliveries, and claims. */
@Module({})
export class OpsModule {
  static with(readiness: Readiness): DynamicModule {
    return {
      module: OpsModule,
      controllers: [
        HealthController,
        MappingsController,
        anyDeliveriesController(opsFaults.unusable),
        NetworkClaimsController,
      ],
      providers: [{ provide: HealthCheck, useValue: { readiness } satisfies HealthCheck }],
    };
  }
}
