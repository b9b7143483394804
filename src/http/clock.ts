/** The present, as handlers take it: tests pass in another one. */
export type Clock = () => Date;

export const CLOCK = Symbol('Clock');
