import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { CONTENT_TYPES } from '../../wire/format';
import { httpFaults } from '../../wire/open-api';
import { openApiDocument } from '../../wire/openapi';
import { factsOf } from '../request-facts';
import { serviceOf } from '../service';
import { DESCRIBED, type Described } from './described';
import { Kept } from './kept';
import { operationsOf } from './operations';

/** The interface as OpenAPI describes it; needs no token. */
@Controller('/1.0/openapi')
export class OpenApiController {
  private document: Kept | undefined;

  constructor(
    @Inject(DESCRIBED) private readonly described: Described,
    private readonly modules: ModulesContainer,
  ) {}

  @Get()
  send(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const { extension } = factsOf(request.raw).target;
    if (extension !== 'json') throw httpFaults.notFound('there is /1.0/openapi.json');
    this.document ??= new Kept(CONTENT_TYPES.json, JSON.stringify(this.describe()));
    this.document.send(request, reply);
  }

  private describe(): object {
    const operations = operationsOf(this.modules);
    const described = this.described.services.flatMap((service) => {
      const { system, description } = service;
      const own = operations.filter(({ path }) => serviceOf([service], path) !== undefined);
      return description === undefined ? [] : { system, description, operations: own };
    });
    return openApiDocument(described, this.described.baseUrl());
  }
}
