import { type Position } from '../kernel/event';

/** Waits until queries show a write, if that is a small one (`docs/decisions.md#a7`, `#x8`). */
export type Shown = (write: { readonly position: Position; readonly changes: number }) => Promise<void>;

export const SHOWN = Symbol('Shown');
