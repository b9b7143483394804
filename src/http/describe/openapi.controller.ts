import { Controller, Get, Req, Res } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { mayHave } from '../../network/organisations';
import { CONTENT_TYPES } from '../../wire/api/format';
import { httpFaults } from '../../wire/api/http-faults';
import { openApiDocument } from '../../wire/api/openapi';
import { Clock } from '../clock';
import { HttpOptions, serviceOf } from '../service';
import { operationsOf } from './operations';
import { StaticContent } from './static-content';

/** The OpenAPI description of the interface; needs no token. */
@Controller('/1.0/openapi')
export class OpenApiController {
  private document: StaticContent | undefined;

  constructor(
    private readonly options: HttpOptions,
    private readonly modules: ModulesContainer,
    private readonly clock: Clock,
  ) {}

  @Get()
  send(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const { extension } = request.target;
    if (extension !== 'json') throw httpFaults.notFound('expected /1.0/openapi.json');
    this.document ??= new StaticContent(CONTENT_TYPES.json, JSON.stringify(this.describe()));
    this.document.send(request, reply);
  }

  private describe(): object {
    const operations = operationsOf(this.modules);
    const { services } = this.options;
    const described = services.flatMap((service) => {
      const { system, description } = service;
      const own = operations
        .filter(({ path }) => serviceOf(services, path) === service)
        .map((one) => ({ ...one, callers: one.callers.filter((kind) => mayHave(kind, system)) }));
      return description === undefined ? [] : { system, description, operations: own };
    });
    return openApiDocument(described, this.options.baseUrl(), this.clock.now());
  }
}
