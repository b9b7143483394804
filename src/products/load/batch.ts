import { type NewEvent } from '../../kernel/event';
import { type FeedImport } from '../feed';
import { applyChange, type Change, decidePosted, type LoadMark, toEvent } from './changes';
import { type Digest, type Fingerprints } from './fingerprints';

/** Something to decide about a feed; decided anew when another writer was faster. */
export type Item =
  | {
      readonly kind: 'posted';
      readonly product: {
        readonly sourceProductId: string;
        readonly price: number;
        readonly content: Digest;
        readonly posted: Digest | undefined;
      };
      readonly textBytes: number;
      /** The content as JSON text. */
      readonly text: () => Buffer;
    }
  | { readonly kind: 'delisted'; readonly product: { readonly sourceProductId: string } };

/** What has become of products. */
export type Tally = {
  -readonly [Key in 'new' | 'revised' | 'repriced' | 'unchanged' | 'removed']: FeedImport[Key];
};

/** What some items, each of another product, mean for a feed as it is. */
export interface Decided {
  readonly items: readonly Item[];
  /** What becomes of each item. */
  readonly changes: readonly (Change | undefined)[];
  readonly events: readonly NewEvent[];
  readonly tally: Tally;
}

const COUNTED = {
  ProductListed: 'new',
  ProductRevised: 'revised',
  ProductRepriced: 'repriced',
  ProductDelisted: 'removed',
} as const;

export function noTally(): Tally {
  return { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0 };
}

export function decide(prints: Fingerprints, items: readonly Item[], mark: LoadMark): Decided {
  const tally = noTally();
  const changes: (Change | undefined)[] = [];
  const events: NewEvent[] = [];
  for (const item of items) {
    const change = changeOf(prints, item);
    changes.push(change);
    if (change === undefined) {
      if (item.kind === 'posted') tally.unchanged += 1;
      continue;
    }
    tally[COUNTED[change.type]] += 1;
    const hasContent = item.kind === 'posted' && 'content' in change;
    events.push(toEvent(change, mark, hasContent ? item.text().toString() : ''));
  }
  return { items, changes, events, tally };
}

function changeOf(prints: Fingerprints, { kind, product }: Item): Change | undefined {
  if (kind === 'posted') return decidePosted(prints, product);
  const { sourceProductId } = product;
  const number = prints.find(sourceProductId);
  return number >= 0 && prints.isListed(number) ? { type: 'ProductDelisted', sourceProductId } : undefined;
}

/** Folds what has been appended, and remembers as which bytes products were posted. */
export function fold(prints: Fingerprints, { items, changes }: Decided): void {
  for (const [at, { kind, product }] of items.entries()) {
    const change = changes[at];
    const number = change === undefined ? prints.find(product.sourceProductId) : applyChange(prints, change);
    if (kind === 'posted' && product.posted !== undefined) prints.rememberPosted(number, product.posted);
  }
}
