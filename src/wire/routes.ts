import { type Fault } from '../kernel/fault';
import { httpFaults, openApiFaults } from './open-api';

const VERSION = '1.0';
const VERSION_SEGMENT = /^v?\d+(\.\d+)*$/i;

/** What is known of paths: the names after `/1.0/`, and which methods a path has. */
export interface Routes {
  readonly modules: ReadonlySet<string>;
  /** None for a path that there is not. */
  readonly methodsOf: (path: string) => readonly string[];
}

/** Why there is no such route (`docs/decisions.md#a8`). */
export function missingRoute(method: string, path: string, { modules, methodsOf }: Routes): Fault {
  const allow = methodsOf(path);
  if (allow.length > 0)
    return httpFaults.methodNotAllowed(`${method} ${path}: there is ${allow.join(', ')}`, { allow });
  const [first = '', module = '', ...rest] = path.split('/').slice(1);
  if (modules.has(first)) return openApiFaults.missingVersion(`the version is missing: /${VERSION}${path}`);
  if (!VERSION_SEGMENT.test(first)) return httpFaults.notFound(`${path}: URL does not exist`);
  if (first !== VERSION)
    return openApiFaults.invalidApiVersion(`there is no version ${first}, there is ${VERSION}`);
  if (!modules.has(module))
    return openApiFaults.missingModule(`there is no module "${module}" under /${VERSION}/`);
  const version = rest.find((segment) => VERSION_SEGMENT.test(segment) && segment.includes('.'));
  if (version !== undefined) return openApiFaults.invalidModuleVersion(`${module} has no version ${version}`);
  return httpFaults.notFound(`${path}: URL does not exist`);
}
