import { elementSchema, schemaFiles } from '../wire/record-document';
import { type Schema, type SchemaFiles } from '../wire/xsd';
import { foundProduct, postedProduct } from './fields';
import { PRODUCT_FILES as FILES, productOperations } from './operations';

/**
 * The XML schemas of products (Document 1, Product; `docs/decisions.md#p24`). Elements that posts and answers share are in a
 * namespace of their own.
 */
export const productSchemas: SchemaFiles = (vendor) => {
  const { [FILES.input]: input, [FILES.output]: output, ...others } = schemaFiles(productOperations);
  const namespaceOf = (part: keyof typeof FILES) => `urn:com:${vendor}:pf:model:xml:${part}`;
  const common = { namespace: namespaceOf('common'), file: FILES.common };
  return {
    [FILES.common]: { ...COMMON, namespace: common.namespace },
    [FILES.input]: { ...withVersion(input), namespace: namespaceOf('input'), imports: { cm: common } },
    [FILES.output]: { elements: {}, ...output, namespace: namespaceOf('output'), imports: { ns2: common } },
    ...others,
  };
};

/** Answers have these elements as posts do, and one more. */
const COMMON = elementSchema(
  { ...postedProduct.fields, programLogo: foundProduct.fields.programLogo },
  'posted',
);

/** Posts may name any version 3. */
function withVersion(schema: Schema | undefined): Schema {
  const { products = {} } = schema?.elements ?? {};
  const root = typeof products === 'string' ? {} : products;
  return {
    ...schema,
    simpleTypes: { version: { base: 'xs:string', pattern: '3(\\.\\d+)*' } },
    elements: { products: { ...root, attributes: { 'version?': 'version' } } },
  };
}
