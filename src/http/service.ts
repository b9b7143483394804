import { type Caller } from '../network/organisations';
import { type OrganisationKind, type System } from '../network/events';
import { type Fault, type MakeFault } from '../kernel/fault';
import { type Description } from '../wire/api/description';
import { type BodyFaults } from '../wire/api/format';
import { type KeyFaults } from '../wire/keys/keys';
import { type RequestJournal } from './idempotency';
import { type BodyBudgets } from './posted-body';
import { type RequestTarget } from '../wire/keys/request-target';
import { API_VERSION, httpFaults, openApiFaults } from '../wire/api/errors';

/** Read models that take loads, those that take none (`Projection`), or both. */
export type ReadModelGroup = 'loads' | 'others' | 'all';

/** A service as the shared HTTP code knows it: data only. */
export interface Service {
  readonly system: System;
  /** The read models that its answers are made of. */
  readonly readModels: ReadModelGroup;
  /** The stream whose products are all that a request reads; undefined if it reads more. */
  readonly streamRead?: (target: RequestTarget) => string | undefined;
  /** Path segments after `/1.0/`; two, such as `claims/subscriptions`, are its part of another service. */
  readonly modules: readonly string[];
  /** Further segments between the version and a module, for clients of older paths: `uts` for `/1.0/uts/claims`. */
  readonly legacyPrefixes: readonly string[];
  /** Namespace of its error lists, below the base URL: `/1.0/products`. */
  readonly namespace: string;
  /** Methods whose error lists are, in XML, a root `errors` with `error` elements, without a namespace. */
  readonly bareErrors: readonly string[];
  /** On paths that are not legacy, `Accept` chooses the format (Document 3, Conventions; `docs/decisions.md#a1`). */
  readonly followsAccept: boolean;
  readonly keyFaults: KeyFaults;
  readonly bodyFaults: BodyFaults;
  /** Its part of OpenAPI and `/docs`; absent for a service that is not described. */
  readonly description?: Description;
  /** The fault that answers an error of the functions behind it; undefined for a bug. */
  readonly faultOf?: (error: unknown) => Fault | undefined;
  readonly faults: {
    /** A bug of ours (`docs/decisions.md#a12`). */
    readonly unexpected: MakeFault;
    /** The token is valid, but not for this operation (`docs/decisions.md#a4`): by the kind of its owner. */
    readonly notAdmitted: Readonly<Record<OrganisationKind, MakeFault>>;
    readonly tokenTwice: MakeFault;
    readonly methodNotAllowed: MakeFault;
    /** No route has the path, which is one of its modules. */
    readonly notFound: MakeFault;
  };
}

/** What differs between services; everything else has a default. */
export interface ServiceDefinition extends Partial<
  Pick<
    Service,
    | 'legacyPrefixes'
    | 'namespace'
    | 'bareErrors'
    | 'followsAccept'
    | 'description'
    | 'faultOf'
    | 'readModels'
    | 'streamRead'
  >
> {
  readonly system: System;
  readonly modules: readonly [string, ...string[]];
  readonly faults: Partial<Omit<Service['faults'], 'notAdmitted'>> & {
    /** Used for keys and bodies unless `keys` and `body` name a fault of their own. */
    readonly unusable: MakeFault;
    /** The same for all kinds of owners, or one for each. */
    readonly notAdmitted: MakeFault | Service['faults']['notAdmitted'];
    readonly keys?: Partial<KeyFaults>;
    readonly body?: Partial<BodyFaults>;
  };
}

export function defineService({ faults, ...given }: ServiceDefinition): Service {
  const { unusable, notAdmitted, keys, body } = faults;
  const { unexpected = httpFaults.serviceDown, tokenTwice = openApiFaults.invalidToken } = faults;
  const { methodNotAllowed = httpFaults.methodNotAllowed, notFound = httpFaults.notFound } = faults;
  const admission =
    typeof notAdmitted === 'function'
      ? { advertiser: notAdmitted, publisher: notAdmitted, operator: notAdmitted }
      : notAdmitted;
  return {
    legacyPrefixes: [],
    namespace: `/${API_VERSION}/${given.modules[0]}`,
    bareErrors: [],
    followsAccept: false,
    readModels: 'others',
    ...given,
    keyFaults: {
      missing: unusable,
      notNumeric: unusable,
      notDate: unusable,
      notCommaSeparated: unusable,
      notCurrency: unusable,
      unusable,
      ...keys,
    },
    bodyFaults: { type: httpFaults.unsupportedType, charset: httpFaults.unsupportedType, ...body },
    faults: { unexpected, notAdmitted: admission, tokenTwice, methodNotAllowed, notFound },
  };
}

/** The service that a path belongs to, even if no route has the path; undefined for paths of no service. */
export function serviceOf(services: readonly Service[], path: string): Service | undefined {
  const [first = '', second = '', third = ''] = path.split('/').slice(1);
  const names = first === API_VERSION ? [`${second}/${third}`, second] : [first, second];
  for (const name of names) {
    const found = services.find(
      ({ modules, legacyPrefixes }) => modules.includes(name) || legacyPrefixes.includes(name),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The namespace of an error list that answers a request with this method; undefined for one without a namespace. */
export function errorNamespace(
  service: Service | undefined,
  method: string,
  baseUrl: string,
): string | undefined {
  return service?.bareErrors.includes(method) === true ? undefined : `${baseUrl}${service?.namespace ?? ''}`;
}

/** What the shared HTTP code depends on; the container's token for it. */
export abstract class HttpParts {
  abstract readonly services: readonly Service[];
  /** Routes of no service, which need no token (`docs/decisions.md#a8`), in Fastify's notation. */
  abstract readonly openRoutes: readonly string[];
  /** The name within XML namespaces (`docs/decisions.md#a9`). */
  abstract readonly vendor: string;
  /** The URL that clients use, without a trailing slash. */
  abstract readonly baseUrl: () => string;
  /** Of requests with an `Idempotency-Key`. */
  abstract readonly journal: RequestJournal;
  abstract readonly maxBody: number;
  /** For all bodies that are received or processed. */
  abstract readonly bodyBudgets: BodyBudgets;
  /** Connections that are accepted at a time (`docs/decisions.md#x101`). */
  abstract readonly maxConnections: number;
  /** Requests a minute for each token of a system (`docs/decisions.md#a6`). */
  abstract readonly rateLimits: Readonly<Partial<Record<System, number>>>;
  /** The caller whose token has this hash; undefined if it is unknown or has expired. */
  abstract readonly callerOf: (tokenHash: string) => Caller | undefined;
  /** Called for each request that is made with a valid token. */
  abstract readonly tokenUsed: (tokenHash: string) => void;
  /** Milliseconds that a search may run (`docs/decisions.md#x71`). */
  abstract readonly searchTime: number;
  /** Bytes a second below which the client of a large answer is disconnected. */
  abstract readonly downloadRate: number;
}
