import { Fault } from '../../kernel/fault';
import { httpFaults, openApiFaults } from './errors';

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
