import { forbiddenCharacter } from '../../wire/characters';

/**
 * The attributes taken from `reportInfo`, by the parameters of an item (Document 2, Message attributes; `docs/decisions.md#t2`).
 */
const PARAMETERS = {
  productNumber: 'f1',
  productName: 'f2',
  productValue: 'f3',
  productQuantity: 'f4',
} as const;

type ProductAttribute = keyof typeof PARAMETERS;

const ITEM = /^f[1-4]=[^&|=]*(&f[1-4]=[^&|=]*)*$/;

export function isReportInfo(text: string): boolean {
  return text.split('|').every((item) => ITEM.test(item) && isReadable(item));
}

/**
 * One value for each item, separated by `|`; `|` and `%` within a value stay percent-encoded. An attribute that no item has is
 * absent.
 */
export function productsIn(reportInfo: string): Partial<Record<ProductAttribute, string>> {
  const items = reportInfo.split('|').map(parametersOf);
  const attributes = Object.entries(PARAMETERS)
    .filter(([, parameter]) => items.some((item) => item.has(parameter)))
    .map(([name, parameter]) => [name, items.map((item) => escaped(item.get(parameter) ?? '')).join('|')]);
  return Object.fromEntries(attributes) as Partial<Record<ProductAttribute, string>>;
}

/** Receivers split at `|`, so that the attributes of an item stay aligned. */
function escaped(value: string): string {
  return value.replaceAll('%', '%25').replaceAll('|', '%7C');
}

function parametersOf(item: string): ReadonlyMap<string, string> {
  const pairs = item.split('&').map((pair) => [pair.slice(0, 2), decodeURIComponent(pair.slice(3))] as const);
  return new Map(pairs);
}

/** Decodable, without characters that XML does not allow. */
function isReadable(item: string): boolean {
  try {
    return forbiddenCharacter(decodeURIComponent(item)) === undefined;
  } catch {
    return false;
  }
}
