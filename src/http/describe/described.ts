import { type Description } from '../../wire/description';

/** Everything that is described, and what it depends on. */
export interface Described {
  readonly vendor: string;
  /** What clients reach us by, without a slash at the end. */
  readonly baseUrl: () => string;
  readonly descriptions: readonly Description[];
}

export const DESCRIBED = Symbol('Described');
