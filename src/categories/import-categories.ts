import { type CategoryFile, type FileCategory } from './category-file';
import { type Fact } from '../directory/decider';
import { type CategoryDefinition } from '../directory/events';
import { directoryAt } from '../directory/directory';
import { type EventLog } from '../kernel/event-log';
import { type Appended, appendFacts } from '../directory/append-facts';

export interface CategoryImport {
  /** Time of the events: ISO 8601. */
  readonly at: string;
  /** ISO 639-1. A file in another language than English only adds names to existing categories. */
  readonly language: string;
  /** Remove what the file does not contain: categories, or names in this language if it is not English. */
  readonly prune: boolean;
}

export interface ImportedCategories extends Appended {
  readonly categories: number;
  /** Categories that were not imported, and why. */
  readonly skipped: readonly { readonly location: string; readonly reason: string }[];
}

const ENGLISH = 'en';

/**
 * Imports a category tree, appending only what changes (`docs/decisions.md#p29`). Running an interrupted import again
 * completes it. It cannot create a cycle, since the file contains the path of each category up to a root.
 */
export async function importCategories(
  log: EventLog,
  file: CategoryFile,
  { at, language, prune }: CategoryImport,
): Promise<ImportedCategories> {
  const directory = await directoryAt(log);
  const mentioned = new Set([...file.categories, ...file.skipped].map(({ id }) => id));
  const skipped: { location: string; reason: string }[] = [...file.skipped];
  const imported = file.categories.filter(({ id, location }) => {
    const canBeNamed = language === ENGLISH || directory.category(id) !== undefined;
    if (!canBeNamed)
      skipped.push({ location, reason: 'it has no English name yet: import the English file first' });
    return canBeNamed;
  });
  const omitted = prune ? [...directory.categories.all()].filter(({ id }) => !mentioned.has(id)) : [];
  const definitions = imported.map((category) =>
    definitionOf(category, directory.category(category.id), language),
  );
  const facts = definitions.map((one) => defined(one, at));
  for (const one of omitted)
    facts.push(language === ENGLISH ? removed(one, at) : defined(without(one, language), at));
  const appended = await appendFacts(log, facts, directory);
  return { ...appended, categories: imported.length, skipped };
}

function definitionOf(
  { id, parentId, name }: FileCategory,
  existing: CategoryDefinition | undefined,
  language: string,
): CategoryDefinition {
  const names = { ...existing?.names, [language]: name };
  return { id, parentId: language === ENGLISH ? parentId : (existing?.parentId ?? null), names };
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
