import { type Fault } from '../kernel/fault';
import { httpFaults, openApiFaults } from './open-api';

const VERSION = '1.0';
const API_VERSION = /^v?\d+(\.\d+)*$/i;
const MODULE_VERSION = /^v?\d+\.\d+$/i;

/** What is known of paths: the names after `/1.0/`, and which methods a path has. */
export interface Routes {
  readonly modules: ReadonlySet<string>;
  /** None for a path that there is not. */
  methodsOf(path: string): readonly string[];
}

/** Why there is no such route (`docs/decisions.md#a8`). */
export function missingRoute(method: string, path: string, routes: Routes): Fault {
  const [first = '', module = '', ...rest] = path.split('/').slice(1);
  const version = rest.find((segment) => MODULE_VERSION.test(segment));
  if (first === VERSION && routes.modules.has(module) && version !== undefined) {
    return openApiFaults.invalidModuleVersion(`${module} has no version ${version}`);
  }
  const allow = routes.methodsOf(path);
  if (allow.length > 0) {
    return httpFaults.methodNotAllowed(`${method} ${path}: there is ${allow.join(', ')}`, { allow });
  }
  if (routes.modules.has(first)) {
    return openApiFaults.missingVersion(`the version is missing: /${VERSION}${path}`);
  }
  if (!API_VERSION.test(first)) return httpFaults.notFound(`${path}: URL does not exist`);
  if (first !== VERSION) {
    return openApiFaults.invalidApiVersion(`there is no version ${first}, there is ${VERSION}`);
  }
  if (!routes.modules.has(module)) {
    return openApiFaults.missingModule(`there is no module "${module}" under /${VERSION}/`);
  }
  return httpFaults.notFound(`${path}: URL does not exist`);
}
