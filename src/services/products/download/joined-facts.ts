import { hash } from 'node:crypto';
import { type Directory } from '../../../network/directory';
import { type FeedDefinition } from '../../../network/events';
import { type Caller } from '../../../network/organisations';
import { type Program } from '../../../network/programs';
import { type OutputView } from '../output';

/** What is joined to a feed's products for one caller, as of one moment; the categories are not among it. */
export interface JoinedFacts {
  readonly feed: FeedDefinition | undefined;
  readonly program: Program | undefined;
  readonly currency: string | undefined;
  readonly siteId: number | undefined;
}

export function joinedFacts(directory: Directory, caller: Caller, feedId: number): JoinedFacts {
  const feed = directory.feed(feedId);
  return {
    feed,
    program: feed && directory.programOf(caller, feed),
    currency: feed && directory.currencyOf(feed),
    siteId: feed && directory.siteFor(caller, feed),
  };
}

/** The same for the same output. */
export function digestOf(
  { feed, program, currency, siteId }: JoinedFacts,
  { kind }: Caller,
  trackerUrl: string,
): string {
  const facts = [feed?.language, currency, siteId, program?.id, program?.name, program?.logoUrl];
  return digest([kind, ...facts, trackerUrl]).slice(0, 12);
}

/** The directory as output needs it: these facts, and the categories as they are now. */
export function viewOf(facts: JoinedFacts, directory: Directory): OutputView['directory'] {
  const categories = new Map([...directory.categories.all()].map((category) => [category.id, category]));
  return {
    feed: () => facts.feed,
    programOf: () => facts.program,
    currencyOf: () => facts.currency,
    siteFor: () => facts.siteId,
    category: (id) => categories.get(id),
  };
}

export function digest(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32);
}
