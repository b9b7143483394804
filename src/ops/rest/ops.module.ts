import { type DynamicModule, Module } from '@nestjs/common';
import { DeliveriesController } from './deliveries.controller';
import { HealthCheck, HealthController, type Readiness } from './health.controller';
import { MappingsController } from './mappings.controller';

/** For operators: health, category mappings, and deliveries. */
@Module({})
export class OpsModule {
  static with(readiness: Readiness): DynamicModule {
    return {
      module: OpsModule,
      controllers: [HealthController, MappingsController, DeliveriesController],
      providers: [{ provide: HealthCheck, useValue: { readiness } satisfies HealthCheck }],
    };
  }
}
