import { mappedCategory, type PostedCategory } from '../../../../network/categories/mapped-category';
import { type Directory } from '../../../../network/directory';

/** The categories in a product's content as events contain it: elsewhere a quotation mark is escaped. */
const CATEGORIES = /"categories":(\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])/;

/** Category lists whose result is cached: most feeds have far fewer. */
const CACHED = 10_000;

/** Tells whether a product of a feed is mapped (`docs/decisions.md#p13`), by the JSON of its content. */
export function mappedIn(feedId: number, directory: Directory): (content: string) => boolean {
  const cache = new Map<string, boolean>();
  return (content) => {
    const categories = CATEGORIES.exec(content)?.[1] ?? '[]';
    let isMapped = cache.get(categories);
    if (isMapped === undefined) {
      const posted = JSON.parse(categories) as readonly PostedCategory[];
      isMapped = posted.some((one) => mappedCategory(one, feedId, directory) !== undefined);
      if (cache.size >= CACHED) cache.clear();
      cache.set(categories, isMapped);
    }
    return isMapped;
  };
}
