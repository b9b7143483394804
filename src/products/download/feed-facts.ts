import { type Directory } from '../../directory/directory';
import { type Caller } from '../../directory/organisations';
import { type OutputView } from '../output';

/** What is joined to a feed's products for one caller, as it was in one moment. */
export interface FeedFacts {
  readonly directory: OutputView['directory'];
  /** Another text, other facts; the names of categories are not in it. */
  readonly text: string;
}

/** Takes the facts as they stand: a download goes on for a while, and the directory follows the log meanwhile. */
export function feedFacts(directory: Directory, caller: Caller, feedId: number): FeedFacts {
  const feed = directory.feed(feedId);
  const program = feed && directory.programOf(caller, feed);
  const currency = feed && directory.currencyOf(feed);
  const siteId = feed && directory.siteFor(caller, feed);
  const categories = new Map([...directory.categories.all()].map((category) => [category.id, category]));
  return {
    directory: {
      feed: () => feed,
      programOf: () => program,
      currencyOf: () => currency,
      siteFor: () => siteId,
      category: (id) => categories.get(id),
    },
    text: JSON.stringify([
      caller.kind,
      feed?.language,
      currency,
      siteId,
      program?.id,
      program?.name,
      program?.logoUrl,
    ]),
  };
}
