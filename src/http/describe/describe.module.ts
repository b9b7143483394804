import { type DynamicModule, Module } from '@nestjs/common';
import { DESCRIBED, type Described } from './described';
import { SchemasController } from './schemas.controller';

/** Tells machines and people what the interface looks like. */
@Module({})
export class DescribeModule {
  static with(described: Described): DynamicModule {
    return {
      module: DescribeModule,
      controllers: [SchemasController],
      providers: [{ provide: DESCRIBED, useValue: described }],
    };
  }
}
