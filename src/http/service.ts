import { type Caller } from '../directory/organisations';
import { type System } from '../directory/events';
import { type Fault, type FaultDetails } from '../kernel/fault';
import { type Position } from '../kernel/event';
import { type Description } from '../wire/description';
import { type BodyFaults, type Format } from '../wire/format';
import { type KeyFaults } from '../wire/keys';

/** A service as the shared glue knows it: data only. */
export interface Service {
  /** Whose tokens it takes. */
  readonly system: System;
  /** The path segments after `/1.0/` that belong to it. */
  readonly modules: readonly string[];
  /** Namespace of its error lists, below the base URL: `/1.0/products`. */
  readonly namespace: string;
  /** Formats that `Accept` may choose (`docs/decisions.md#a1`). */
  readonly byAccept: readonly Format[];
  readonly keyFaults: KeyFaults;
  /** What is told of it to those who are to use it, if it is. */
  readonly description?: Description;
  readonly bodyFaults: BodyFaults;
  readonly faults: {
    /** A bug of ours (`docs/decisions.md#a12`). */
    readonly unexpected: MakeFault;
    /** The token is valid, the operation is for others (`docs/decisions.md#a4`). */
    readonly notAdmitted: MakeFault;
    readonly tokenTwice: MakeFault;
  };
}

type MakeFault = (message?: string, details?: FaultDetails) => Fault;

export interface HttpOptions {
  readonly services: readonly Service[];
  /** Routes of no service, which need no token (`docs/decisions.md#a8`), in Fastify's notation. */
  readonly openRoutes: readonly string[];
  /** What clients reach us by, without a slash at the end. */
  readonly baseUrl: () => string;
  /** Bytes that a posted body may have. */
  readonly maxBody: number;
  /** Requests a minute for each token of a system (`docs/decisions.md#a6`). */
  readonly rateLimits: Readonly<Partial<Record<System, number>>>;
  /** Who calls with a token of this hash. */
  readonly callerOf: (tokenHash: string) => Caller | undefined;
  /** Waits until reads see this position, `milliseconds` at most; false if they do not by then. */
  readonly waitFor: (position: Position, milliseconds: number) => Promise<boolean>;
  readonly now: () => Date;
  /** Milliseconds that a search may run (`docs/decisions.md#x71`). */
  readonly searchTime: number;
  /** Bytes a second below which a client that takes a large answer is dropped. */
  readonly downloadRate: number;
  /** Told of each failure that nobody expected, a bug (`docs/decisions.md#a12`). */
  readonly onUnexpected: () => void;
}

/** Raises an error for a route that is neither guarded by a service's tokens nor meant to be open. */
export function refuseUnguarded(route: string, { services, openRoutes }: HttpOptions): void {
  const isOpen = openRoutes.includes(route) || serviceOf(services, route) !== undefined;
  if (!isOpen)
    throw new Error(`${route} belongs to no service and is not among the routes that need no token`);
}

/** The service that a path belongs to, whether the path exists or not; some paths belong to none. */
export function serviceOf(services: readonly Service[], path: string): Service | undefined {
  const [first = '', second = ''] = path.split('/').slice(1);
  const names = first === '1.0' ? [second] : [first, second];
  return services.find(({ modules }) => names.some((name) => modules.includes(name)));
}
