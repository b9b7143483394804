import { type Service } from '../service';

/** Everything that is described, and what it depends on. */
export interface Described {
  readonly vendor: string;
  /** What clients reach us by, without a slash at the end. */
  readonly baseUrl: () => string;
  readonly services: readonly Service[];
}

export const DESCRIBED = Symbol('Described');
