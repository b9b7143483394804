import { Controller, Get, Module, Param, Req, Res } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { errorSchema, httpFaults } from '../../wire/api/errors';
import { CONTENT_TYPES } from '../../wire/api/format';
import { writeXml } from '../../wire/xml/write';
import { type Schema, toXsd } from '../../wire/xml/xsd';
import { HttpOptions } from '../service';
import { DocsController } from './docs.controller';
import { IndexController, sendIndex } from './index.controller';
import { OpenApiController } from './openapi.controller';

/** The XML schemas of all services (`docs/decisions.md#p24`); needs no token. */
@Controller('/1.0/schemas')
class SchemasController {
  /** Their texts, written once. */
  private written: ReadonlyMap<string, string> | undefined;

  constructor(private readonly options: HttpOptions) {}

  @Get()
  index(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const files = [...this.schemas().keys()].sort();
    sendIndex(
      request,
      reply,
      files.map((file) => [`1.0/schemas/${file}`, file]),
    );
  }

  @Get(':file')
  schema(@Param('file') file: string, @Res({ passthrough: true }) reply: FastifyReply): string {
    const schemas = this.schemas();
    const schema = schemas.get(file);
    if (schema === undefined)
      throw httpFaults.notFound(
        `no schema is called ${file}: expected one of ${[...schemas.keys()].join(', ')}`,
      );
    reply.type(CONTENT_TYPES.xml).header('X-Content-Type-Options', 'nosniff');
    return schema;
  }

  private schemas(): ReadonlyMap<string, string> {
    this.written ??= new Map(
      [...this.described()].map(([file, schema]) => [file, writeXml(toXsd(schema), { pretty: true })]),
    );
    return this.written;
  }

  private described(): ReadonlyMap<string, Schema> {
    const { vendor, services } = this.options;
    const baseUrl = this.options.baseUrl();
    const files = services.flatMap(({ namespace, description }) =>
      description === undefined
        ? []
        : [
            ...Object.entries(description.schemas(vendor)),
            [description.errorSchema, errorSchema(`${baseUrl}${namespace}`)] as const,
          ],
    );
    return new Map([...files, ['Errors_v1_0.xsd', errorSchema(baseUrl)]]);
  }
}

/** Describes the interface to programs and people. */
@Module({ controllers: [IndexController, SchemasController, OpenApiController, DocsController] })
export class DescribeModule {}
