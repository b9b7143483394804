import { type Parts, type SchemaFiles } from '../wire/xsd';
import { LISTED_FIELDS, POSTED_FIELDS } from './fields';

const POSTED: Readonly<Record<string, string>> = {
  integer: 'integer',
  amount: 'amount',
  date: 'integer',
  boolean: 'boolean',
};

const LISTED: Readonly<Record<string, string>> = {
  integer: 'xs:integer',
  amount: 'xs:double',
  date: 'date',
  boolean: 'xs:boolean',
};

/** Elements of these fields, by their kinds; of other kinds they are texts. */
function elementsOf(
  fields: Readonly<Record<string, { readonly kind: string }>>,
  types: Readonly<Record<string, string>>,
): Parts {
  return Object.fromEntries(
    Object.entries(fields).map(([name, { kind }]) =>
      kind === 'integers' ? ['siteId', 'integer'] : [name, types[kind] ?? 'xs:string'],
    ),
  );
}

/** An empty element is as good as none (`docs/decisions.md#v16`). */
const posted = (pattern: string) => ({ base: 'xs:string', pattern: `\\s*(${pattern})?\\s*` });
const date = { union: ['xs:integer', 'xs:dateTime'] } as const;

/** The XML schemas of vouchers (Document 2, Vouchers; `docs/decisions.md#x61`): all in no namespace. */
export const voucherSchemas: SchemaFiles = () => ({
  'Voucher_v1_0.xsd': {
    simpleTypes: {
      integer: posted('-?\\d{1,16}'),
      amount: posted('\\d{1,15}(\\.\\d{1,15})?'),
      boolean: posted('[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]'),
    },
    elements: { voucher: { any: elementsOf(POSTED_FIELDS, POSTED) } },
  },
  'VoucherKey_v1_0.xsd': { elements: { long: 'xs:long' } },
  'VoucherList_v1_0.xsd': {
    simpleTypes: { date },
    elements: {
      voucherList: {
        sequence: {
          'voucher*': { sequence: { ...elementsOf(LISTED_FIELDS, LISTED), 'sourceId?': 'xs:string' } },
        },
      },
    },
  },
  'VoucherVersions_v1_0.xsd': {
    simpleTypes: { date },
    elements: {
      versions: {
        sequence: {
          'version*': {
            attributes: { version: 'xs:integer', time: 'date' },
            sequence: { 'changed*': 'xs:string' },
          },
        },
      },
    },
  },
});
