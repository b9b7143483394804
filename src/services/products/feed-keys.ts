import { INTEGER, type KeyTable, LANGUAGE, oneOf } from '../../wire/keys/keys';

/** Document 1, Category tree. */
export const categoryKeys = {
  language: { type: LANGUAGE, description: 'Language of the names; English without it' },
} as const satisfies KeyTable;

/** Document 1, Category mapping status. */
export const mappingKeys = {
  fid: { type: INTEGER, multiple: true, required: true, description: 'Feeds to list' },
  state: { type: oneOf('unmapped', 'mapped'), description: 'Only categories of this state' },
  format: {
    type: oneOf('json', 'xml'),
    beyondJson: true,
    description: 'Format of the answer; overrides the extension',
  },
} as const satisfies KeyTable;

/** Document 1, Feed last-updated time; the load report (`docs/decisions.md#p30`). */
export const feedKey = {
  fid: { type: INTEGER, required: true, description: 'Id of the feed' },
} as const satisfies KeyTable;

/** Document 1, Feed list. */
export const feedKeys = {
  programId: { type: INTEGER, multiple: true, description: 'Only feeds of these programs' },
} as const satisfies KeyTable;
