import {
  DESCRIPTIVE,
  foundOffer,
  foundProduct,
  OFFER_TEXTS,
  postedProduct,
  PRODUCT_TEXTS,
  TEXTS,
} from '../../../src/domain/products/product-fields';
import { searchKeys } from '../../../src/services/products/keys';
import { OFFER_FIELDS, OUTPUT_FIELDS, POSTED_FIELDS } from '../../api/document-tables';

const names = ({ fields }: { readonly fields: object }) => Object.keys(fields).sort();

describe('the table of fields has those of the document, and no other', () => {
  it('posted (Document 1, Product posted by an advertiser)', () => {
    expect(names(postedProduct)).toEqual([...POSTED_FIELDS].sort());
  });

  it('answered on the product (Document 1, Product (search and bulk output))', () => {
    expect(names(foundProduct)).toEqual([...OUTPUT_FIELDS].sort());
  });

  it('answered on the offer (Document 1, Offer object)', () => {
    expect(names(foundOffer)).toEqual([...OFFER_FIELDS].sort());
  });

  it('each posted text on one of the two', () => {
    expect([...PRODUCT_TEXTS, ...OFFER_TEXTS].sort()).toEqual([...TEXTS].sort());
  });
});

it('a descriptive key is one of search (Document 1, Search products)', () => {
  for (const [key] of DESCRIPTIVE) expect(searchKeys).toHaveProperty(key);
});
