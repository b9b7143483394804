import { API_VERSION, type Routes } from '../wire/routes';

/** The registered routes, to explain why a request matches none. */
export class RouteBook implements Routes {
  readonly modules = new Set<string>();
  private readonly routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];

  constructor(readonly legacyPrefixes: ReadonlySet<string>) {}

  /** A route in Fastify's notation: `/1.0/productFeeds/:id`. */
  add(methods: readonly string[], url: string): void {
    const [version, ...segments] = url.split('/').slice(1);
    if (url.includes('*')) return;
    const module = segments.find((segment) => !this.legacyPrefixes.has(segment));
    if (version === API_VERSION && module !== undefined) this.modules.add(module);
    const pattern = url
      .split('/')
      .map((segment) => (segment.startsWith(':') ? '[^/]+' : segment.replace(/[^\w-]/g, '\\$&')))
      .join('/');
    this.routes.push({ pattern: new RegExp(`^${pattern}$`), methods });
  }

  methodsOf(path: string): readonly string[] {
    const found = this.routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
    return [...new Set(found)].sort();
  }
}
