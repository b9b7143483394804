import { z } from 'zod';
import { type Service } from '../../http/service';
import { faultsOf } from '../../kernel/fault';
import { INTEGER, oneOf, TEXT } from '../../wire/key-types';
import { type KeyFaults, type KeyTable } from '../../wire/keys';
import { httpFaults, openApiFaults } from '../../wire/open-api';

/** Codes are the HTTP status, as of generic errors (`docs/decisions.md#x60`). */
export const opsFaults = faultsOf({
  unusable: ['400', 400, 'The request cannot be used'],
  notAdmitted: ['403', 403, 'The token does not admit this'],
});

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
  fid: { type: INTEGER, multiple: true, required: true },
  state: { type: oneOf('mapped', 'unmapped') },
} as const satisfies KeyTable;

export const unmapKeys = {
  fid: { type: INTEGER, required: true },
  name: { type: TEXT, required: true },
} as const satisfies KeyTable;

export const suggestKeys = {
  fid: { type: INTEGER, multiple: true },
  name: { type: TEXT, multiple: true },
  most: { type: INTEGER },
} as const satisfies KeyTable;

/** A posted list of changes; without `categoryId` a name is unmapped. */
export const postedMappings = z.strictObject({
  mappings: z
    .array(
      z.strictObject({
        feedId: z.int(),
        name: z.string(),
        categoryId: z.union([z.string(), z.int().transform(String)]).exactOptional(),
      }),
    )
    .max(10_000),
});
