import { type Promised } from './broken';

// What a world observes while it runs.

export const LIVES: Promised = {
  promise: 'A process does not end because an engine, a receiver or another process fails.',
};
export const BOUNDED: Promised = {
  promise: 'Nothing is repeated without a pause, and memory is bounded.',
};
export const RESTS: Promised = {
  promise: 'When nothing fails any more, everything comes to rest, within 45 minutes.',
};

export const COPIES: Promised = {
  promise: 'A backup that is restored elsewhere sends nothing until it is told to, and then all that is due.',
};

export const PROCESSES = [LIVES, BOUNDED, RESTS, COPIES] as const;
