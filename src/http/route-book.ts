import { type Operation } from '../wire/api/openapi-operation';
import { API_VERSION, type Routes } from '../wire/api/routes';

/** The registered routes, to explain why a request matches none. */
export class RouteBook implements Routes {
  readonly modules = new Set<string>();
  private readonly routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];

  constructor(
    readonly legacyPrefixes: ReadonlySet<string>,
    private readonly operations: readonly Pick<Operation, 'method' | 'path' | 'formats'>[],
  ) {}

  /** A route in Fastify's notation: `/1.0/productFeeds/:id`. */
  add(methods: readonly string[], url: string): void {
    const [version, ...segments] = url.split('/').slice(1);
    if (url.includes('*')) return;
    const module = segments.find((segment) => !this.legacyPrefixes.has(segment));
    // The index of a version (`docs/decisions.md#x85`): any other method lacks a module.
    if (version === API_VERSION && module === undefined) return;
    if (version === API_VERSION && module !== undefined) this.modules.add(module);
    this.routes.push({ pattern: patternOf(url), methods });
  }

  methodsOf(path: string): readonly string[] {
    const found = this.routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
    return [...new Set(found)].sort();
  }

  formatsOf(method: string, path: string): readonly string[] {
    const read = method === 'HEAD' ? 'GET' : method;
    const found = this.operations.find((one) => one.method === read && patternOf(one.path).test(path));
    return found?.formats ?? [];
  }
}

/** Matches the paths of a route. */
function patternOf(url: string): RegExp {
  const segments = url
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/]+' : segment.replace(/[^\w-]/g, '\\$&')));
  return new RegExp(`^${segments.join('/')}$`);
}
