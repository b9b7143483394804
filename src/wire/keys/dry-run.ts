import { BOOLEAN } from './types';
import { type KeySpec } from './keys';

/** The key of writes that can be tried without storing anything (`docs/decisions.md#a15`). */
export const dryRunKey = {
  type: BOOLEAN,
  description: 'Checks everything and stores nothing; the answer is as it would be',
} as const satisfies KeySpec<boolean>;
