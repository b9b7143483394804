import { Controller, type ExecutionContext, Get, Req, RequestMethod, Res } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { ModulesContainer, Reflector } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { ORGANISATION_KINDS, type OrganisationKind } from '../../network/events';
import { mayHave } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { CONTENT_TYPES } from '../../wire/api/format';
import { httpFaults } from '../../wire/api/errors';
import { openApiDocument } from '../../wire/api/openapi';
import { type Operation } from '../../wire/api/openapi-operation';
import { ApiOperation, formatsOf, keyTable, rolesOf } from '../decorators';
import { HttpOptions, serviceOf } from '../service';
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

type HandlerMethod = (...parameters: never[]) => unknown;

/** An operation of a controller. */
interface RoutedOperation extends Operation {
  readonly callers: readonly OrganisationKind[];
}

const reflector = new Reflector();

/** The operations of all controllers with `@ApiOperation`, as their decorators describe them. */
export function operationsOf(modules: ModulesContainer): readonly RoutedOperation[] {
  const controllers = [...modules.values()].flatMap((module) => [...module.controllers.values()]);
  return controllers.flatMap(({ metatype }) =>
    typeof metatype === 'function' ? ofController(metatype) : [],
  );
}

function ofController(controller: ReturnType<ExecutionContext['getHandler']>): RoutedOperation[] {
  const prototype = controller.prototype as object;
  const base: unknown = Reflect.getMetadata(PATH_METADATA, controller);
  const members = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  return members.flatMap(([name, { value: handler }]) => {
    const text = isHandler(handler) ? reflector.get(ApiOperation, handler) : undefined;
    if (!isHandler(handler) || text === undefined) return [];
    const path: unknown = Reflect.getMetadata(PATH_METADATA, handler);
    return {
      method: RequestMethod[reflector.get<RequestMethod>(METHOD_METADATA, handler)],
      path: `${trimmed(base)}${trimmed(path)}`,
      callers: rolesOf(reflector, handler, controller) ?? ORGANISATION_KINDS,
      formats: formatsOf(reflector, handler, controller),
      keys: keyTable(prototype, name),
      text,
    };
  });
}

function isHandler(value: unknown): value is HandlerMethod {
  return typeof value === 'function';
}

/** `/products` for `products`, nothing for `/`; the first of several paths. */
function trimmed(paths: unknown): string {
  const [path]: readonly unknown[] = [paths].flat();
  const inner = typeof path === 'string' ? path.replace(/^\/+|\/+$/g, '') : '';
  return inner === '' ? '' : `/${inner}`;
}
