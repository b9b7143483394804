import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { type FastifyRequest } from 'fastify';
import { type Caller as CallerOfToken } from '../directory/organisations';
import { type OperationText } from '../wire/description';
import { type FairQueue } from '../kernel/fair-queue';
import { type Format } from '../wire/format';
import { readKeys, type KeyTable } from '../wire/keys';
import { PostedBody } from './posted-body';
import { factsOf } from './request-facts';
import { type HttpOptions, type Service } from './service';
import { type View } from './view';

/** What the guard has found out, for the handler's parameters and for its answer. */
export interface Admission {
  readonly caller: CallerOfToken;
  readonly service: Service;
  readonly view: View;
  readonly options: HttpOptions;
  /** Tells of the stop of the server. */
  readonly stopping: AbortSignal;
  /** The turns of requests that read lists. */
  readonly reads: FairQueue;
}

const admissions = new WeakMap<object, Admission>();

/** Keeps what the guard has found out about a request. */
export function admit(request: FastifyRequest, admission: Admission): void {
  admissions.set(request, admission);
}

/** What the guard has found out about a request, if that is one to a service. */
export function admitted(request: FastifyRequest): Admission | undefined {
  return admissions.get(request);
}

/** What the guard has found out about a request, which is one to a service. */
export function admissionOf(request: FastifyRequest): Admission {
  const admission = admitted(request);
  if (admission === undefined) throw new Error(`${request.url} belongs to no service`);
  return admission;
}

function requestOf(context: ExecutionContext): FastifyRequest {
  return context.switchToHttp().getRequest<FastifyRequest>();
}

export const KINDS = 'affilog:kinds';
export const FORMATS = 'affilog:formats';
export const KEYS = 'affilog:keys';
export const TEXT = 'affilog:text';

/** What is told of an operation to those who are to use it. */
export const Told = (text: OperationText) => SetMetadata(TEXT, text);

/** Which kinds of callers an operation is for; without it, all that have a token of the service. */
export const For = (...kinds: readonly CallerOfToken['kind'][]) => SetMetadata(KINDS, kinds);

/** Formats that an operation answers in; without it JSON and XML. */
export const Offers = (...formats: readonly Format[]) => SetMetadata(FORMATS, formats);

/** Parameter: who calls. */
export const Caller = createParamDecorator(
  (_: unknown, context): CallerOfToken => admissionOf(requestOf(context)).caller,
);

const keysOf = createParamDecorator((table: KeyTable, context) => {
  const request = requestOf(context);
  return readKeys(table, factsOf(request.raw).target, admissionOf(request).service.keyFaults);
});

/** Parameter: the keys of the request by a table, of type `Keys<typeof table>`. */
export function RequestKeys(table: KeyTable): ParameterDecorator {
  return (controller, method, index) => {
    if (method !== undefined) Reflect.defineMetadata(KEYS, table, controller, method);
    keysOf(table)(controller, method, index);
  };
}

/** Parameter: the posted body, a `PostedBody`. */
export const Posted = createParamDecorator((_: unknown, context): PostedBody => {
  const request = requestOf(context);
  const { service, options, stopping } = admissionOf(request);
  return new PostedBody(request.raw, service, options.maxBody, stopping);
});
