import { type Fact } from '../directory/decider';
import { type Directory } from '../directory/directory';
import { type EventLog } from '../kernel/event-log';
import { forbiddenCharacter } from '../wire/characters';
import { type Appended, appendFacts } from '../directory/append-facts';

/** What a feed's name of a category is to mean; without a category, nothing any more. */
export interface MappingChange {
  readonly feedId: number;
  readonly name: string;
  readonly categoryId?: string;
}

/** A line of an import: what it says, or why it cannot be read. */
export interface MappingLine {
  /** From 1. */
  readonly line: number;
  readonly change: MappingChange | { readonly problem: string };
}

export const outcomes = ['mapped', 'unmapped', 'unchanged', 'refused'] as const;

/** What has become of a line. */
interface MappingOutcome {
  readonly line: number;
  readonly outcome: (typeof outcomes)[number];
  readonly message?: string;
}

export interface ChangedMappings extends Appended {
  readonly report: readonly MappingOutcome[];
}

/** Characters of a name. */
const LONGEST = 1000;

/**
 * Maps and unmaps, each line by itself: the good ones are done, the others reported. What is so already takes no event. Of
 * several good lines about one name the last one counts.
 */
export async function changeMappings(
  log: EventLog,
  directory: Directory,
  lines: readonly MappingLine[],
  at: string,
): Promise<ChangedMappings> {
  const judged = lines.map(({ line, change }) => ({ line, change: judge(change, directory) }));
  const last = new Map<string, number>();
  for (const { line, change } of judged) if (!('problem' in change)) last.set(keyOf(change), line);
  const facts: Fact[] = [];
  const report = judged.map(({ line, change }): MappingOutcome => {
    const refused = (message: string): MappingOutcome => ({ line, outcome: 'refused', message });
    if ('problem' in change) return refused(change.problem);
    const later = last.get(keyOf(change));
    if (later !== undefined && later !== line) return refused(`line ${later} says it anew`);
    const { feedId, name, categoryId } = change;
    if (directory.categories.mappingsOf(feedId).get(name) === categoryId)
      return { line, outcome: 'unchanged' };
    facts.push(factOf(change, at));
    return { line, outcome: categoryId === undefined ? 'unmapped' : 'mapped' };
  });
  return { ...(await appendFacts(log, facts, directory)), report };
}

function keyOf({ feedId, name }: MappingChange): string {
  return JSON.stringify([feedId, name]);
}

function judge(change: MappingLine['change'], directory: Directory): MappingLine['change'] {
  const problem = 'problem' in change ? undefined : problemOf(change, directory);
  return problem === undefined ? change : { problem };
}

function problemOf({ feedId, name, categoryId }: MappingChange, directory: Directory): string | undefined {
  if (directory.feed(feedId) === undefined) return `feedId=${feedId}: there is no such feed`;
  if (name.trim() === '') return 'name is missing: expected the name of a category in the feed';
  if (name.length > LONGEST) return `name has ${name.length} characters: expected at most ${LONGEST}`;
  if (forbiddenCharacter(name) !== undefined) return 'name has a character that XML does not admit';
  if (categoryId !== undefined && directory.category(categoryId) === undefined)
    return `categoryId=${categoryId}: there is no such platform category`;
  return undefined;
}

function factOf({ feedId, name, categoryId }: MappingChange, at: string): Fact {
  const event =
    categoryId === undefined
      ? ({ type: 'CategoryUnmapped', data: { feedId, name, at } } as const)
      : ({ type: 'CategoryMapped', data: { feedId, name, categoryId, at } } as const);
  return { category: 'mapping', id: feedId, event };
}
