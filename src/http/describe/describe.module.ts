import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller';
import { IndexController } from './index.controller';
import { OpenApiController } from './openapi.controller';
import { SchemasController } from './schemas.controller';

/** Describes the interface to programs and people. */
@Module({ controllers: [IndexController, SchemasController, OpenApiController, DocsController] })
export class DescribeModule {}
