import { type CategoryFile, type FileCategory } from './category-file';
import { type Fact } from '../directory/decider';
import { type CategoryDefinition } from '../directory/events';
import { directoryAt } from '../directory/directory';
import { type EventLog } from '../kernel/event-log';
import { type Appended, appendFacts } from '../directory/append-facts';

export interface CategoryImport {
  /** When it is said to have happened: ISO 8601. */
  readonly at: string;
  /** ISO 639-1. In another language than English a file only names categories that are there. */
  readonly language: string;
  /** Remove what the file does not mention: categories, or names in another language than English. */
  readonly prune: boolean;
}

export interface ImportedCategories extends Appended {
  readonly categories: number;
  /** What was left out of the tree, and why. */
  readonly leftOut: readonly { readonly place: string; readonly why: string }[];
}

const ENGLISH = 'en';

/**
 * Brings the category tree to what a file says, appending only what changes (`docs/decisions.md#p29`). Broken off, the
 * same import again completes it. Whatever was there before, no circle can come of it: the file leads each of its
 * categories up to a root.
 */
export async function importCategories(
  log: EventLog,
  file: CategoryFile,
  { at, language, prune }: CategoryImport,
): Promise<ImportedCategories> {
  const directory = await directoryAt(log);
  const isMentioned = new Set([...file.categories, ...file.leftOut].map(({ id }) => id));
  const leftOut: { place: string; why: string }[] = [...file.leftOut];
  const wanted = file.categories.filter(({ id, place }) => {
    const isNamable = language === ENGLISH || directory.category(id) !== undefined;
    if (!isNamable)
      leftOut.push({ place, why: 'it has no English name yet: import the English file before' });
    return isNamable;
  });
  const gone = prune ? [...directory.categories.all()].filter(({ id }) => !isMentioned.has(id)) : [];
  const definitions = wanted.map((category) =>
    definitionOf(category, directory.category(category.id), language),
  );
  const facts = definitions.map((one) => defined(one, at));
  for (const one of gone)
    facts.push(language === ENGLISH ? removed(one, at) : defined(without(one, language), at));
  const appended = await appendFacts(log, facts, directory);
  return { ...appended, categories: wanted.length, leftOut };
}

function definitionOf(
  { id, parentId, name }: FileCategory,
  present: CategoryDefinition | undefined,
  language: string,
): CategoryDefinition {
  const names = { ...present?.names, [language]: name };
  return { id, parentId: language === ENGLISH ? parentId : (present?.parentId ?? null), names };
}

function removed({ id }: CategoryDefinition, at: string): Fact {
  return { category: 'category', id, event: { type: 'CategoryRemoved', data: { id, at } } };
}

function without({ names, ...category }: CategoryDefinition, language: string): CategoryDefinition {
  return {
    ...category,
    names: Object.fromEntries(Object.entries(names).filter(([code]) => code !== language)),
  };
}

function defined(category: CategoryDefinition, at: string): Fact {
  return {
    category: 'category',
    id: category.id,
    event: { type: 'CategoryDefined', data: { ...category, at } },
  };
}
