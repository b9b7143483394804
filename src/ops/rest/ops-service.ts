import { type Service } from '../../http/service';
import { faultsOf } from '../../kernel/fault';
import { INTEGER, oneOf, TEXT } from '../../wire/key-types';
import { type KeyFaults, type KeyTable } from '../../wire/keys';
import { httpFaults, openApiFaults } from '../../wire/open-api';

/** Codes are the HTTP status, as of generic errors (`docs/decisions.md#x60`). */
const opsFaultTable = {
  unusable: ['400', 400, 'The request cannot be used'],
  notAdmitted: ['403', 403, 'The token does not admit this'],
} as const;

export const opsFaults = faultsOf(opsFaultTable);

const keyFaults: KeyFaults = {
  missing: opsFaults.unusable,
  notNumeric: opsFaults.unusable,
  notDate: opsFaults.unusable,
  notCommaSeparated: opsFaults.unusable,
  notCurrency: opsFaults.unusable,
  unusable: opsFaults.unusable,
};

/** What operators ask by HTTP, as the shared glue knows it. */
export const opsService: Service = {
  system: 'OPS',
  modules: ['ops'],
  namespace: '/ops/1.0',
  byAccept: [],
  keyFaults,
  description: {
    title: 'Operations',
    description: 'For operators of the network: what advertisers’ names of categories are mapped to.',
    faults: opsFaultTable,
    schemas: () => ({}),
    errorSchema: 'OpsErrors_v1_0.xsd',
  },
  bodyFaults: {
    type: httpFaults.unsupportedType,
    charset: httpFaults.unsupportedType,
    missingCharset: opsFaults.unusable,
  },
  faults: {
    unexpected: httpFaults.serviceDown,
    notAdmitted: opsFaults.notAdmitted,
    tokenTwice: openApiFaults.invalidToken,
  },
};

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
