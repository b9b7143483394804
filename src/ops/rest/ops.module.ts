import { type DynamicModule, Module } from '@nestjs/common';
import { HealthCheck, HealthController, type Readiness } from './health.controller';
import { MappingsController } from './mappings.controller';

/** For operators: health, and category mappings. */
@Module({})
export class OpsModule {
  static with(readiness: Readiness): DynamicModule {
    return {
      module: OpsModule,
      controllers: [HealthController, MappingsController],
      providers: [{ provide: HealthCheck, useValue: { readiness } satisfies HealthCheck }],
    };
  }
}
