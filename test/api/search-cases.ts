import { offerId } from '../../src/domain/products/offer';
import { FEEDS } from './network';
import { product } from './posted';

const { german, swedish } = FEEDS;

/** Of the German feed a product was posted on each of these days, in this order; the Swedish one on the last. */
export const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'] as const;

/** Products that differ in everything that can be looked for. */
export const LAMP = product('lamp', {
  name: 'Crème-Lampe GRÖSSE 2',
  description: 'Straße, foo_bar 4-fold naïve',
  price: 9.99,
  categories: [{ id: '21', name: 'Lampen & Licht' }],
  brand: 'Ørsted',
  ean: '0501234567890',
  sku: 'S1',
  inStock: 5,
  availability: 'In Stock',
  condition: 'New',
  model: 'L-1',
  manufacturer: 'Ørsted A/S',
  shippingCost: 'Free',
  promoText: 'Two, for one',
  warranty: '2 Years',
  deliveryTime: '1-2 Days',
  weight: '250 G',
  size: 'XL',
  techSpecs: '5 W; 230 V',
  fields: [
    { name: 'Colour', value: 'Dark red' },
    { name: 'a=b', value: 'c' },
  ],
});
export const PHONES = product('phones', {
  name: 'Headphones, grosse',
  description: 'A lampe on top? No.',
  price: 10,
  categories: [{ id: '111' }, { name: 'In-Ear, wired' }],
  brand: 'Straße',
  mpn: 'M/1',
  upc: '012345678905',
  isbn: '3-16-148410-X',
  inStock: 0,
});
export const SOFA = product('so,fa', { name: 'Sofa', price: 10.01, categories: [{ id: '2' }] });
export const LJUD = product('ljud', {
  name: 'Högtalare',
  description: 'ビジネスシューズ、iPhone15プロ หูฟังไร้สาย: पुल, Йод; Kopfhoerer poet Ølkrus',
  price: 500,
  categories: [{ id: '12' }],
  inStock: 9,
});

export const ALL = ['lamp', 'phones', 'so,fa', 'ljud'];
const GERMAN = ['lamp', 'phones', 'so,fa'];
/** Seconds after midnight, UTC, of the second day. */
const second = (time: string) => encodeURIComponent(`${DAYS[1]}T${time}`);

/** What is found by each of some words. */
function found(words: readonly string[], ids: readonly string[]) {
  return words.map((word) => ['q', `q=${encodeURIComponent(word)}`, ids] as const);
}

/** Of each key: what is sent, and what is found of both feeds. */
export const FINDS: readonly (readonly [key: string, sent: string, found: readonly string[]])[] = [
  ['q', 'q=sofa', ['so,fa']],
  ['q', 'q=SOFA%20lampe', []],
  ['q', 'q=creme', ['lamp']],
  ['q', 'q=lampe', ['lamp', 'phones']],
  ['q', 'q=grosse', ['lamp', 'phones']],
  ['q', 'q=GR%C3%96%C3%9FE', ['lamp', 'phones']],
  ['q', 'q=strasse+naive', ['lamp']],
  ['q', 'q=foo', []],
  ['q', 'q=foo_bar', ['lamp']],
  ['q', 'q=lamp', []],
  ['q', 'q=%22fold%204%22', ['lamp']],
  ['q', 'q=headphones,sofa', ['phones', 'so,fa']],
  ['q', 'q=headphones;q=sofa', ['phones', 'so,fa']],
  ['q', 'q=headphones%2Csofa', ['phones', 'so,fa']],
  ['q', 'q=headphones%252Csofa', []],
  ['q', 'q=*', ALL],
  ['q', 'q=', ALL],
  ['q', 'q=-!', ALL],
  ['q', 'q=hogtalare', ['ljud']],
  ...found(['hogtalare', 'hoegtalare', 'h\u00f6gtalare', 'ho\u0308gtalare'], ['ljud']),
  ...found(
    ['シューズ', 'ビジネス', 'ネスシュー', 'ズ', 'ｼｭｰｽﾞ', 'iphone15', 'プロ', 'ｉＰＨＯＮＥ15'],
    ['ljud'],
  ),
  ...found(['シュース', 'シューズズ', 'シューズビ', 'iphone'], []),
  ...found(['ไร้สาย', 'หูฟัง', 'पुल', 'йод', 'и\u0306од'], ['ljud']),
  ...found(['ไรสาย', 'पल', 'иод'], []),
  ...found(['kopfhörer', 'kopfhoerer', 'olkrus', 'OELKRUS', 'pöt', 'øLKRUS'], ['ljud']),
  ...found(['kopfhorer', 'pot', 'oelkruse'], []),
  ['currency', 'currency=EUR', GERMAN],
  ['currency', 'currency=sek', ['ljud']],
  ['currency', 'currency=USD', []],
  ['minPrice', 'minPrice=10', ['phones', 'so,fa', 'ljud']],
  ['minPrice', 'pricemin=10.01', ['so,fa', 'ljud']],
  ['minPrice', 'minPrice=10.001', ['so,fa', 'ljud']],
  ['maxPrice', 'maxPrice=10', ['lamp', 'phones']],
  ['maxPrice', 'priceMax=10.009', ['lamp', 'phones']],
  ['maxPrice', 'maxPrice=9.98', []],
  ['minUpdateDate', 'minUpdateDate=2026-03-02', ['phones', 'so,fa', 'ljud']],
  ['minUpdateDate', `minUpdateDate=${Date.parse(DAYS[1]) + 1}`, ['so,fa', 'ljud']],
  ['minUpdateDate', `minUpdateDate=${second('01:00:00+01:00')}`, ['phones', 'so,fa', 'ljud']],
  ['minUpdateDate', `minUpdateDate=${DAYS[1]}T01:00:00+01:00`, ['phones', 'so,fa', 'ljud']],
  ['minUpdateDate', `minUpdateDate=${second('00:00:00.001Z')}`, ['so,fa', 'ljud']],
  ['maxUpdateDate', 'maxUpdateDate=2026-03-02', ['lamp', 'phones']],
  ['maxUpdateDate', `maxUpdateDate=${Date.parse(DAYS[1]) - 1}`, ['lamp']],
  ['maxUpdateDate', `maxUpdateDate=${second('00:00Z')}`, ['lamp', 'phones']],
  ['maxUpdateDate', `maxUpdateDate=${second('00:59:59+0100')}`, ['lamp']],
  ['tdCategoryId', 'tdCategoryId=2', ['lamp', 'so,fa']],
  ['tdCategoryId', 'tdCategoryId=1', ['phones', 'ljud']],
  ['tdCategoryId', 'tdCategoryId=11', ['phones']],
  ['tdCategoryId', 'tdCategoryId=12,21', ['lamp', 'ljud']],
  ['tdCategoryId', 'tdCategoryId=12;tdCategoryId=21', ['lamp', 'ljud']],
  ['tdCategoryId', 'tdCategoryId=999', []],
  ['category', 'category=lampen%20%26%20LICHT', ['lamp']],
  ['category', 'category=Lampen', []],
  ['category', 'category=in-ear%252C%20wired', ['phones']],
  ['category', 'category=in-ear,%20wired', []],
  ['brand', 'brand=%C3%B8RSTED', ['lamp']],
  ['brand', 'brands=orsted', []],
  ['brand', 'BRAND=strasse,%C3%98rsted', ['lamp', 'phones']],
  ['brand', 'brand=strasse;brands=x', ['phones']],
  ['spId', 'spId=lamp,ljud', ['lamp', 'ljud']],
  ['spId', 'spId=Lamp', []],
  ['spId', 'spId=so%252Cfa', ['so,fa']],
  ['tdId', `tdId=${offerId(german, 'lamp')},${offerId(swedish, 'ljud')}`, ['lamp', 'ljud']],
  ['tdId', `tdId=${offerId(swedish, 'lamp')}`, []],
  ['ean', 'ean=0501234567890', ['lamp']],
  ['ean', 'ean=501234567890', []],
  ['mpn', 'mpn=M%2F1', ['phones']],
  ['mpn', 'mpn=m%2F1', []],
  ['sku', 'sku=S2,S1', ['lamp']],
  ['upc', 'upc=012345678905', ['phones']],
  ['isbn', 'isbn=3-16-148410-X', ['phones']],
  ['language', 'language=SV', ['ljud']],
  ['language', 'language=de', GERMAN],
  ['language', 'language=fr', []],
  ['field', 'field=colour%3Ddark+RED', ['lamp']],
  ['field', 'field=Colour%3DDark', []],
  ['field', 'field=a%3Db%3Dc', ['lamp']],
  ['availability', 'availability=in%20stock', ['lamp']],
  ['availability', 'availability=stock', []],
  ['condition', 'condition=new,used', ['lamp']],
  ['model', 'model=l-1', ['lamp']],
  ['manufacturer', 'manufacturer=%C3%B8rsted%20a%2Fs', ['lamp']],
  ['shippingCost', 'shippingCost=FREE', ['lamp']],
  ['promoText', 'promoText=two%252C%20for%20one', ['lamp']],
  ['promoText', 'promoText=two,for%20one', []],
  ['warranty', 'warranty=2%20years', ['lamp']],
  ['deliveryTime', 'deliveryTime=1-2%20days', ['lamp']],
  ['weight', 'weight=250%20g', ['lamp']],
  ['size', 'size=xl', ['lamp']],
  ['techSpec', 'techSpec=5%20w%3B%20230%20v', ['lamp']],
  ['techSpec', 'techSpec=5%20w', []],
  ['minInStock', 'minInStock=5', ['lamp', 'ljud']],
  ['minInStock', 'minInStock=0', ['lamp', 'phones', 'ljud']],
  ['maxInStock', 'maxInStock=5', ['lamp', 'phones']],
  ['maxInStock', 'maxInStock=-1', []],
  ['fid', `fid=${german}`, ALL],
];
