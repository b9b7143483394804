import { type DynamicModule, Module } from '@nestjs/common';
import { DESCRIBED, type Described } from './described';
import { DocsController } from './docs.controller';
import { OpenApiController } from './openapi.controller';
import { SchemasController } from './schemas.controller';

/** Tells machines and people what the interface looks like. */
@Module({})
export class DescribeModule {
  static with(described: Described): DynamicModule {
    return {
      module: DescribeModule,
      controllers: [SchemasController, OpenApiController, DocsController],
      providers: [{ provide: DESCRIBED, useValue: described }],
    };
  }
}
