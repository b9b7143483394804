import { CategoryFaults, type CategoryFile, type FileCategory } from './category-file';
import { type Fact, factOf } from '../decider';
import { type CategoryDefinition } from '../events';
import { type Directory } from '../directory';

interface CategoryImport {
  readonly at: string;
  /** ISO 639-1. A file in another language than English only adds names to existing categories. */
  readonly language: string;
  /** Remove what the file does not contain: categories, or names in this language if it is not English. */
  readonly prune: boolean;
  /** Rename categories: accept an id that a category of another name has. */
  readonly merge: boolean;
}

interface CategoryPlan {
  readonly facts: readonly Fact[];
  /** Number of categories in the file that are imported. */
  readonly categories: number;
  /** Categories that were not imported, and why. */
  readonly skipped: readonly { readonly location: string; readonly reason: string }[];
}

const ENGLISH = 'en';

/**
 * Decides what an import of a category tree appends: only what changes (`docs/decisions.md#p29`). It cannot create a
 * cycle, since the file contains the path of each category up to a root. Raises `CategoryFaults` for ids of categories
 * with other names (`docs/decisions.md#x95`), and if nothing in the file can be imported.
 */
export function planCategories(
  directory: Directory,
  file: CategoryFile,
  { at, language, prune, merge }: CategoryImport,
): CategoryPlan {
  const mentioned = new Set([...file.categories, ...file.skipped].map(({ id }) => id));
  const skipped: { location: string; reason: string }[] = [...file.skipped];
  const imported = file.categories.filter(({ id, location }) => {
    const canBeNamed = language === ENGLISH || directory.category(id) !== undefined;
    if (!canBeNamed)
      skipped.push({ location, reason: 'it has no English name yet: import the English file first' });
    return canBeNamed;
  });
  const taken = merge ? [] : imported.flatMap((category) => nameFault(category, directory, language) ?? []);
  if (taken.length > 0) throw new CategoryFaults(taken);
  const [first] = skipped;
  if (imported.length === 0 && first !== undefined)
    throw new CategoryFaults([
      `none of the ${skipped.length} categories in the file can be imported; the first one is ${first.location}: ` +
        first.reason,
    ]);
  const omitted = prune ? [...directory.categories.all()].filter(({ id }) => !mentioned.has(id)) : [];
  const definitions = imported.map((category) =>
    definitionOf(category, directory.category(category.id), language),
  );
  const facts = definitions.map((one) => defined(one, at));
  for (const one of omitted)
    facts.push(
      language === ENGLISH
        ? factOf({ type: 'CategoryRemoved', data: { id: one.id, at } })
        : defined(without(one, language), at),
    );
  return { facts, categories: imported.length, skipped };
}

function nameFault(
  { id, name, location }: FileCategory,
  directory: Directory,
  language: string,
): string | undefined {
  const present = directory.category(id)?.names[language];
  if (present === undefined || present === name) return undefined;
  const names = [name, present].map((one) => JSON.stringify(one));
  return (
    `${location}: ${names[0] ?? ''}: the id ${id} is taken by ${names[1] ?? ''}; expected the same name, or ` +
    '--merge to rename it'
  );
}

function definitionOf(
  { id, parentId, name }: FileCategory,
  existing: CategoryDefinition | undefined,
  language: string,
): CategoryDefinition {
  const names = { ...existing?.names, [language]: name };
  return { id, parentId: language === ENGLISH ? parentId : (existing?.parentId ?? null), names };
}

function without({ names, ...category }: CategoryDefinition, language: string): CategoryDefinition {
  return {
    ...category,
    names: Object.fromEntries(Object.entries(names).filter(([code]) => code !== language)),
  };
}

function defined(category: CategoryDefinition, at: string): Fact {
  return factOf({ type: 'CategoryDefined', data: { ...category, at } });
}
