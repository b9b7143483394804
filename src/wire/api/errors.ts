import { Fault, faultsOf } from '../../kernel/fault';
import { schemaOf, xmlWriter } from '../record/document';
import { text } from '../record/kinds';
import { type AnswerOf, listOf, record } from '../record/record';
import { type XmlElement } from '../xml/write';
import { type XmlSchema } from '../xml/xsd';
import { type Shape } from './description';

const error = record({
  code: { kind: text(), description: 'Code of the error' },
  message: { kind: text(), description: 'Description of the error' },
  sourceProductId: { kind: text(), optional: true, description: 'The product concerned' },
});

const description = 'All errors';

/** The error list of all services (Document 1, Errors; `docs/decisions.md#a1`); an empty one reports success. */
export const errorList = record(
  { errors: { kind: listOf(error, { each: 'e' }), description } },
  { name: 'ErrorList' },
);

/** The same as some answers have it in XML (Document 3, Errors). */
export const bareErrorList = record({ errors: { kind: listOf(error, { each: 'error' }), description } });

/** An answer that can be a success, which is an empty list. */
export const REFUSALS = {
  name: 'ErrorList',
  kind: errorList,
  examples: { json: { errors: [] } },
} as const satisfies Shape;

export function errorsAsJson(faults: readonly Fault[]): AnswerOf<typeof errorList> {
  return {
    errors: faults.map(({ code, message, details: { sourceProductId } }) => ({
      code,
      ...(sourceProductId === undefined ? {} : { sourceProductId }),
      message,
    })),
  };
}

const toXml = xmlWriter(errorList);
const toBareXml = xmlWriter(bareErrorList);

/** The same as XML: root `Response` in the service's namespace; without one, root `errors` with `error` elements. */
export function errorsAsXml(faults: readonly Fault[], namespace: string | undefined): XmlElement {
  if (namespace === undefined) return toBareXml(errorsAsJson(faults));
  return { Response: { ...toXml(errorsAsJson(faults)), $: { xmlns: namespace } } };
}

export function errorSchema(namespace: string): XmlSchema {
  return { ...schemaOf(errorList, { file: '', root: 'Response' }, 'answered'), namespace };
}

/** The faults of module Open API, shared by all services (Document 1, Errors). */
export const openApiFaultTable = {
  missingToken: ['1', 400, 'Missing token'],
  invalidToken: ['2', 403, 'Invalid token'],
  invalidApiVersion: ['3', 404, 'Invalid API version'],
  invalidModuleVersion: ['4', 404, 'Invalid module version'],
  notResponding: ['5', 500, 'Service not responding'],
  missingVersion: ['6', 404, 'Missing version'],
  missingModule: ['7', 404, 'Missing module'],
} as const;

export const openApiFaults = faultsOf(openApiFaultTable);

/** Value of `Retry-After`, in seconds. */
const RETRY_AFTER = 5;

/** An engine is unavailable, or the server is stopping (`docs/decisions.md#a12`). `reason`: what can be waited for. */
export function notResponding(reason?: string): Fault {
  const [, , text] = openApiFaultTable.notResponding;
  const message = reason === undefined ? text : `${text}: ${reason}`;
  return openApiFaults.notResponding(message, { retryAfter: RETRY_AFTER });
}

/** A read model that a request reads is not there. */
export function notBuilt(collection: string): Fault {
  return notResponding(
    `the read model ${collection} is being built from its log, as after an upgrade or when the log was removed or ` +
      'replaced. Wait until a server with the role projector has built it, and repeat the request',
  );
}

/** Before the services are there, whose operations are described (`docs/decisions.md#x98`). */
const startFaults = faultsOf({ starting: ['503', 503, 'The server is starting'] } as const);

/** `reason`: what the start waits for. */
export function starting(reason: string): Fault {
  return startFaults.starting(`The server is starting: ${reason}`, { retryAfter: RETRY_AFTER });
}

/** Faults of HTTP itself: the code is the status (Document 1, Generic HTTP errors; `docs/decisions.md#p2`). */
export const httpFaultTable = {
  badRequest: ['400', 400, 'The request is not valid HTTP'],
  notFound: ['404', 404, 'URL does not exist'],
  methodNotAllowed: ['405', 405, 'Invalid HTTP method'],
  notAcceptable: ['406', 406, 'Requested content type not acceptable'],
  timeout: ['408', 408, 'The body arrives too slowly'],
  inProgress: ['409', 409, 'A request with this Idempotency-Key is in progress: repeat it later'],
  bodyTooLarge: ['413', 413, 'The body is too large'],
  unsupportedType: ['415', 415, 'Sent content type not supported'],
  expectationFailed: ['417', 417, 'Expectation failed'],
  keyReused: [
    '422',
    422,
    'The Idempotency-Key was used for another request within 24 hours: expected a new key for each new request',
  ],
  quotaExceeded: ['429', 429, 'Request quota exceeded'],
  headersTooLarge: ['431', 431, 'The headers are too large'],
  serviceDown: ['500', 500, 'Service down'],
  overloaded: ['503', 503, 'Too many requests are waiting to be answered'],
  receiving: ['503', 503, 'Too many bodies are being received'],
  notYet: ['503', 503, 'What was written up to this position cannot be read yet'],
} as const;

export const httpFaults = faultsOf(httpFaultTable);

/** The version of the interface: the first segment of paths. */
export const API_VERSION = '1.0';
const ANY_VERSION = /^v?\d+(\.\d+)*$/i;
const MODULE_VERSION = /^v?\d+\.\d+$/i;

export interface Routes {
  /** The names after `/1.0/`. */
  readonly modules: ReadonlySet<string>;
  /** Segments that may be between the version and a module: `uts`. */
  readonly legacyPrefixes: ReadonlySet<string>;
  /** The methods of a path; none for an unknown path. */
  methodsOf(path: string): readonly string[];
  /** The formats in which an operation answers; none for an unknown one. */
  formatsOf(method: string, path: string): readonly string[];
}

/** Why a request matches no route (`docs/decisions.md#a8`). `faults`: of the service, if the path is one of its own. */
export function missingRoute(
  method: string,
  path: string,
  routes: Routes,
  faults: RouteFaults = httpFaults,
): Fault {
  const fault = problemOf(method, path, routes, faults);
  const [, withoutExtension = '', extension = ''] = /^(.*)\.(\w+)$/.exec(path) ?? [];
  const formats = routes.formatsOf(method, withoutExtension);
  if (formats.length === 0) return fault;
  const expected = formats.map((format) => `.${format}`).join(', ');
  return new Fault(fault.code, fault.status, `.${extension}: unknown format; expected ${expected}`);
}

type RouteFaults = Pick<typeof httpFaults, 'methodNotAllowed' | 'notFound'>;

function problemOf(method: string, path: string, routes: Routes, faults: RouteFaults): Fault {
  if (!path.startsWith('/')) return httpFaults.notFound(`${path}: expected a path that begins with /`);
  const [first = '', ...segments] = path.split('/').slice(1);
  if (routes.legacyPrefixes.has(segments[0] ?? '')) segments.shift();
  const [module = '', ...rest] = segments;
  const version = rest.find((segment) => MODULE_VERSION.test(segment));
  if (first === API_VERSION && routes.modules.has(module) && version !== undefined) {
    return openApiFaults.invalidModuleVersion(`${module} has no version ${version}`);
  }
  const allow = routes.methodsOf(path);
  if (allow.length > 0) {
    return faults.methodNotAllowed(`${method} ${path}: expected ${allow.join(', ')}`, { allow });
  }
  if (routes.modules.has(first) || routes.legacyPrefixes.has(first)) {
    return openApiFaults.missingVersion(`the version is missing: /${API_VERSION}${path}`);
  }
  if (!ANY_VERSION.test(first)) return httpFaults.notFound(`${path}: URL does not exist`);
  if (first !== API_VERSION) {
    return openApiFaults.invalidApiVersion(`version ${first}: expected ${API_VERSION}`);
  }
  if (module === '') {
    return openApiFaults.missingModule(`${path}: expected the name of a module after it`);
  }
  if (!routes.modules.has(module)) {
    return openApiFaults.missingModule(`no module is called "${module}" under /${API_VERSION}/`);
  }
  return faults.notFound(`${path}: URL does not exist`);
}
