import { type DynamicModule, Module } from '@nestjs/common';
import { NetworkClaimsController } from './claims.controller';
import { DeliveriesController } from './deliveries.controller';
import { HealthCheck, HealthController, type Readiness } from './health.controller';
import { MappingsController } from './mappings.controller';

/** For operators: health, category mappings, deliveries, and claims. */
@Module({})
export class OpsModule {
  static with(readiness: Readiness): DynamicModule {
    return {
      module: OpsModule,
      controllers: [HealthController, MappingsController, DeliveriesController, NetworkClaimsController],
      providers: [{ provide: HealthCheck, useValue: { readiness } satisfies HealthCheck }],
    };
  }
}
