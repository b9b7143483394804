import { DESCRIPTIVE, type Field, type FieldName, FIELDS } from '../../src/products/fields';
import { searchKeys } from '../../src/products/search-keys';
import { OFFER_FIELDS, OUTPUT_FIELDS, POSTED_FIELDS } from '../api/document-tables';

const names = Object.keys(FIELDS) as FieldName[];
const those = (like: (field: Field) => boolean) => names.filter((name) => like(FIELDS[name])).sort();

describe('the table of fields has those of the document, and no other', () => {
  it('posted (Document 1, Product posted by an advertiser)', () => {
    expect(those(({ posted }) => posted !== 'never')).toEqual([...POSTED_FIELDS].sort());
  });

  it('answered on the product (Document 1, Product (search and bulk output))', () => {
    expect(those(({ on }) => on === 'product')).toEqual([...OUTPUT_FIELDS].sort());
  });

  it('answered on the offer (Document 1, Offer object)', () => {
    expect(those(({ on }) => on === 'offer')).toEqual([...OFFER_FIELDS].sort());
  });
});

it('a descriptive key is one of search (Document 1, Search products)', () => {
  for (const [key] of DESCRIPTIVE) expect(searchKeys).toHaveProperty(key);
});
