import { defineService } from '../../http/service';
import { faultsOf } from '../../kernel/fault';
import { INTEGER, oneOf, TEXT } from '../../wire/key-types';
import { type KeyTable } from '../../wire/keys';

/** Codes are the HTTP status, as of generic errors (`docs/decisions.md#x60`). */
const opsFaultTable = {
  unusable: ['400', 400, 'The request cannot be used'],
  notAdmitted: ['403', 403, 'The token does not admit this'],
} as const;

export const opsFaults = faultsOf(opsFaultTable);

/** The service for operators of the network. */
export const opsService = defineService({
  system: 'OPS',
  modules: ['ops'],
  namespace: '/ops/1.0',
  description: {
    title: 'Operations',
    description: 'For operators of the network: what advertisers’ names of categories are mapped to.',
    faults: opsFaultTable,
    schemas: () => ({}),
    errorSchema: 'OpsErrors_v1_0.xsd',
  },
  faults: opsFaults,
});

export const listKeys = {
  fid: { type: INTEGER, multiple: true, required: true, description: 'Feeds' },
  state: { type: oneOf('mapped', 'unmapped'), description: 'Only names of this state' },
} as const satisfies KeyTable;

export const unmapKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed' },
  name: { type: TEXT, required: true, description: 'The advertiser’s name that is to mean nothing' },
} as const satisfies KeyTable;

export const suggestKeys = {
  fid: { type: INTEGER, multiple: true, description: 'Feeds whose unmapped names are meant' },
  name: { type: TEXT, multiple: true, description: 'Names, of whatever feed' },
  most: { type: INTEGER, description: 'Suggestions for each name, 20 at most, 3 if not given' },
} as const satisfies KeyTable;
