import { SaxesParser } from 'saxes';

interface Built {
  sourceProductId: string;
  productImage: { url: string };
  categories: Record<string, string>[];
  fields: { name: string; value: string }[];
  [simple: string]: unknown;
}

const CHUNK = 64 * 1024;

/** The products of a posted XML body as objects in the shape of the JSON ones, built by saxes. */
export function xmlProducts(body: Buffer, take: (product: Built) => void): void {
  const parser = new SaxesParser({ xmlns: true });
  let product: Built | undefined;
  let text = '';
  let fieldName = '';
  parser.on('opentag', ({ local, attributes }) => {
    text = '';
    switch (local) {
      case 'product':
        product = {
          sourceProductId: attributes.sourceProductId?.value ?? '',
          productImage: { url: '' },
          categories: [],
          fields: [],
        };
        break;
      case 'category': {
        const category: Record<string, string> = {};
        for (const { local: name, value } of Object.values(attributes)) category[name] = value;
        product?.categories.push(category);
        break;
      }
      case 'field':
        fieldName = attributes.name?.value ?? '';
    }
  });
  parser.on('text', (some) => {
    text += some;
  });
  parser.on('closetag', ({ local }) => {
    if (product === undefined) return;
    switch (local) {
      case 'product':
        take(product);
        product = undefined;
        break;
      case 'productImage':
        product.productImage.url = text;
        break;
      case 'field':
        product.fields.push({ name: fieldName, value: text });
        break;
      case 'categories':
      case 'fields':
      case 'category':
        break;
      default:
        product[local] = text;
    }
  });
  const decoder = new TextDecoder();
  for (let at = 0; at < body.length; at += CHUNK) {
    parser.write(decoder.decode(body.subarray(at, at + CHUNK), { stream: true }));
  }
  parser.close();
}
