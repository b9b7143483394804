import { createParamDecorator, type ExecutionContext, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Caller } from '../network/organisations';
import { type OperationText } from '../wire/api/description';
import { type Format } from '../wire/api/format';
import { type KeyTable, readKeys } from '../wire/keys/keys';
import { admissionOf } from './request-state';

export const ApiOperation = Reflector.createDecorator<OperationText>();

/** The kinds of callers that may call an operation, or those of a controller: by default, all of the service. */
export const Roles = Reflector.createDecorator<readonly Caller['kind'][]>();

/** The formats that an operation, or those of a controller, answer in; without it JSON and XML. */
export const Produces = Reflector.createDecorator<readonly Format[]>();

/** Reads the decorators above: the container's `Reflector`, or another. */
type Metadata = Pick<Reflector, 'getAllAndOverride'>;

type Decorated = ReturnType<ExecutionContext['getHandler']>;

/** Of a handler and its controller. */
export function rolesOf(
  metadata: Metadata,
  ...operation: readonly [Decorated, Decorated]
): readonly Caller['kind'][] | undefined {
  return metadata.getAllAndOverride<readonly Caller['kind'][] | undefined>(Roles.KEY, [...operation]);
}

export function formatsOf(
  metadata: Metadata,
  ...operation: readonly [Decorated, Decorated]
): readonly Format[] {
  const formats = metadata.getAllAndOverride<readonly Format[] | undefined>(Produces.KEY, [...operation]);
  return formats ?? ['json', 'xml'];
}

const KEYS = 'affilog:keys';

/** The keys of a controller's handler; none without `@MatrixKeys`. */
export function keyTable(controller: object, method: string): KeyTable {
  return (Reflect.getMetadata(KEYS, controller, method) as KeyTable | undefined) ?? NO_KEYS;
}

const NO_KEYS: KeyTable = {};

export function keyTableOf(context: ExecutionContext): KeyTable {
  const controller: Type<object> = context.getClass();
  return keyTable(controller.prototype as object, context.getHandler().name);
}

function requestOf(context: ExecutionContext): FastifyRequest {
  return context.switchToHttp().getRequest<FastifyRequest>();
}

/** Parameter: the owner of the token. */
export const CurrentCaller = createParamDecorator(
  (_: unknown, context): Caller => admissionOf(requestOf(context)).caller,
);

const keysOf = createParamDecorator((table: KeyTable, context) => {
  const request = requestOf(context);
  const keys = readKeys(table, request.target, admissionOf(request).service.keyFaults);
  const reply = context.switchToHttp().getResponse<FastifyReply>();
  if (keys['dryRun'] === true) reply.header('X-Dry-Run', 'true');
  return keys;
});

/** Parameter: the matrix keys by a table. Answers of dry runs are marked, failures too (`docs/decisions.md#a15`). */
export function MatrixKeys(table: KeyTable): ParameterDecorator {
  return (controller, method, index) => {
    if (method !== undefined) Reflect.defineMetadata(KEYS, table, controller, method);
    keysOf(table)(controller, method, index);
  };
}
