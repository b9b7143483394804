import { elementSchema, schemaFiles } from '../../wire/record/document';
import { type Schema, type SchemaFiles } from '../../wire/xml/xsd';
import { FEED_ELEMENTS, FEED_LIST_FILE } from './feed-list';
import { postedProduct } from '../../domain/products/fields';
import { PRODUCT_FILES as FILES, productOperations } from './operations';
import { ANSWERED_COMMON } from './output-xml';

/**
 * The XML schemas of products (Document 1, Product; `docs/decisions.md#p24`). Elements that posts and answers share are in a
 * namespace of their own.
 */
export const productSchemas: SchemaFiles = (vendor) => {
  const {
    [FILES.input]: input,
    [FILES.output]: output,
    [FEED_LIST_FILE]: feedList,
    ...others
  } = schemaFiles(productOperations);
  const namespaceOf = (part: keyof typeof FILES) => `urn:com:${vendor}:pf:model:xml:${part}`;
  const common = { namespace: namespaceOf('common'), file: FILES.common };
  const answer = { namespace: namespaceOf('output'), imports: { ns2: common } };
  return {
    [FILES.common]: { ...COMMON, namespace: common.namespace },
    [FILES.input]: { ...withVersion(input), namespace: namespaceOf('input'), imports: { cm: common } },
    [FILES.output]: { elements: {}, ...output, ...answer },
    [FEED_LIST_FILE]: { elements: {}, ...feedList, ...answer },
    ...others,
  };
};

const POSTED = elementSchema(postedProduct.fields, 'posted');
const ANSWERED = elementSchema({ ...FEED_ELEMENTS, ...ANSWERED_COMMON }, 'answered');

/** Elements of posts and of answers, for both: the amount of a price as it may be posted, its attributes as they are answered. */
const COMMON = {
  types: { ...ANSWERED.types, ...POSTED.types },
  simpleTypes: { ...ANSWERED.simpleTypes, ...POSTED.simpleTypes },
  elements: { ...POSTED.elements, ...ANSWERED.elements },
};

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
