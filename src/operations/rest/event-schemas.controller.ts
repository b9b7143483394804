import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { sendIndex } from '../../http/describe';
import { httpFaults } from '../../wire/api/errors';
import { CONTENT_TYPES } from '../../wire/api/format';
import { eventSchemas } from '../events/schemas';

/** The JSON Schemas of events (`docs/decisions.md#x104`); needs no token. */
@Controller('/1.0/schemas/events')
export class EventSchemasController {
  private written: ReadonlyMap<string, string> | undefined;

  @Get()
  index(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const types = [...this.schemas().keys()];
    sendIndex(
      request,
      reply,
      types.map((type) => [`1.0/schemas/events/${type}.json`, type]),
    );
  }

  @Get(':type')
  schema(@Param('type') type: string, @Res({ passthrough: true }) reply: FastifyReply): string {
    const schema = this.schemas().get(type);
    if (schema === undefined)
      throw httpFaults.notFound(`no event is called ${type}: /1.0/schemas/events/ lists all types`);
    reply.type(CONTENT_TYPES.json).header('X-Content-Type-Options', 'nosniff');
    return schema;
  }

  private schemas(): ReadonlyMap<string, string> {
    this.written ??= new Map([...eventSchemas()].map(([type, schema]) => [type, JSON.stringify(schema)]));
    return this.written;
  }
}
