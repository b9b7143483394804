import { LANGUAGE } from '../wire/iso-keys';
import { INTEGER, oneOf } from '../wire/key-types';
import { type KeyTable } from '../wire/keys';

/** Document 1, Category tree. */
export const categoryKeys = { language: { type: LANGUAGE } } as const satisfies KeyTable;

/** Document 1, Category mapping status. */
export const mappingKeys = {
  fid: { type: INTEGER, multiple: true, required: true },
  state: { type: oneOf('unmapped', 'mapped') },
  format: { type: oneOf('json', 'xml') },
} as const satisfies KeyTable;

/** The load report (`docs/decisions.md#p30`). */
export const importKeys = { fid: { type: INTEGER, required: true } } as const satisfies KeyTable;

/** Document 1, Feed list. */
export const feedKeys = { programId: { type: INTEGER, multiple: true } } as const satisfies KeyTable;
