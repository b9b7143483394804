import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { type ModulesContainer, Reflector } from '@nestjs/core';
import { type Caller } from '../../directory/organisations';
import { type Operation } from '../../wire/openapi-operation';
import { ApiOperation, formatsOf, keyTable, rolesOf } from '../decorators';

type Handler = (...parameters: never[]) => unknown;

const reflector = new Reflector();

/** The operations of all controllers with `@ApiOperation`, as their decorators describe them. */
export function operationsOf(modules: ModulesContainer): readonly Operation[] {
  const controllers = [...modules.values()].flatMap((module) => [...module.controllers.values()]);
  return controllers.flatMap(({ metatype }) =>
    typeof metatype === 'function' ? ofController(metatype) : [],
  );
}

function ofController(controller: { readonly prototype: object }): Operation[] {
  const base: unknown = Reflect.getMetadata(PATH_METADATA, controller);
  const members = Object.entries(Object.getOwnPropertyDescriptors(controller.prototype));
  return members.flatMap(([name, { value: handler }]) => {
    const text = isHandler(handler) ? reflector.get(ApiOperation, handler) : undefined;
    if (!isHandler(handler) || text === undefined) return [];
    const path: unknown = Reflect.getMetadata(PATH_METADATA, handler);
    return {
      method: RequestMethod[reflector.get<RequestMethod>(METHOD_METADATA, handler)],
      path: `${trimmed(base)}${trimmed(path)}`,
      callers: rolesOf(reflector, handler) ?? ANYBODY,
      formats: formatsOf(reflector, handler),
      keys: keyTable(controller.prototype, name),
      text,
    };
  });
}

const ANYBODY: readonly Caller['kind'][] = ['advertiser', 'publisher'];

function isHandler(value: unknown): value is Handler {
  return typeof value === 'function';
}

/** `/products` for `products`, nothing for `/`; the first of several paths. */
function trimmed(paths: unknown): string {
  const [path]: readonly unknown[] = [paths].flat();
  const inner = typeof path === 'string' ? path.replace(/^\/+|\/+$/g, '') : '';
  return inner === '' ? '' : `/${inner}`;
}
