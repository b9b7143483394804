import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { type ModulesContainer, Reflector } from '@nestjs/core';
import { ORGANISATION_KINDS, type OrganisationKind } from '../../network/events';
import { type Operation } from '../../wire/api/openapi-operation';
import { ApiOperation, formatsOf, keyTable, rolesOf } from '../decorators';

type Handler = (...parameters: never[]) => unknown;

/** An operation of a controller. */
export interface RoutedOperation extends Operation {
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

function ofController(controller: { readonly prototype: object }): RoutedOperation[] {
  const base: unknown = Reflect.getMetadata(PATH_METADATA, controller);
  const members = Object.entries(Object.getOwnPropertyDescriptors(controller.prototype));
  return members.flatMap(([name, { value: handler }]) => {
    const text = isHandler(handler) ? reflector.get(ApiOperation, handler) : undefined;
    if (!isHandler(handler) || text === undefined) return [];
    const path: unknown = Reflect.getMetadata(PATH_METADATA, handler);
    return {
      method: RequestMethod[reflector.get<RequestMethod>(METHOD_METADATA, handler)],
      path: `${trimmed(base)}${trimmed(path)}`,
      callers: rolesOf(reflector, handler) ?? ORGANISATION_KINDS,
      formats: formatsOf(reflector, handler),
      keys: keyTable(controller.prototype, name),
      text,
    };
  });
}

function isHandler(value: unknown): value is Handler {
  return typeof value === 'function';
}

/** `/products` for `products`, nothing for `/`; the first of several paths. */
function trimmed(paths: unknown): string {
  const [path]: readonly unknown[] = [paths].flat();
  const inner = typeof path === 'string' ? path.replace(/^\/+|\/+$/g, '') : '';
  return inner === '' ? '' : `/${inner}`;
}
