import { hash } from 'node:crypto';
import { NamedError } from '../../kernel/fault';
import { isPosted, type Posted } from '../../wire/api/posted';
import { forbiddenCharacter } from '../../wire/xml/write';
import { shortJson } from '../../wire/json/write';
import { type Fact, factOf } from '../decider';
import { type CategoryDefinition } from '../events';
import { type Directory } from '../directory';

/** Limits: characters of a name, nodes of a file, reported faults. */
const MAX = { characters: 1000, nodes: 50_000, faults: 1000 } as const;

/** A category of a file with its id in the platform tree. */
interface FileCategory {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  /** Location in the file: `line 12`, `$[3].children[0]`. */
  readonly location: string;
}

interface CategoryFile {
  /** Parents before their children. */
  readonly categories: readonly FileCategory[];
  /** Nodes without a name and their descendants, with the ids they would have. */
  readonly skipped: readonly { readonly id: string; readonly location: string; readonly reason: string }[];
}

/** An invalid file; the message lists all faults, one per line. */
export class CategoryFaults extends NamedError {
  constructor(readonly faults: readonly string[]) {
    const more = faults.length - MAX.faults;
    super([...faults.slice(0, MAX.faults), ...(more > 0 ? [`${more} more faults`] : [])].join('\n'));
  }
}

/**
 * Reads a published category tree: JSON (nested, or a list of nodes with their parents or paths) or lines of paths.
 * Integer ids of the source are retained, others are assigned (`docs/decisions.md#p29`). Raises `CategoryFaults`.
 */
export function readCategories(text: string): CategoryFile {
  const faults: string[] = [];
  const isJson = /^\s*[[{]/.test(text);
  const nodes = isJson ? nodesOfJson(text, faults) : nodesOfLines(text, faults);
  if (nodes.length > MAX.nodes)
    throw new CategoryFaults([`${nodes.length} categories: expected at most ${MAX.nodes}`]);
  const file = merge(nodes, faults);
  if (nodes.length === 0 && faults.length === 0) faults.push('expected at least one category');
  if (faults.length > 0) throw new CategoryFaults(faults);
  return file;
}

/** Merges the nodes of each category and finds its parent. */
function merge(nodes: readonly SourceNode[], faults: string[]): CategoryFile {
  const nodesByKey = new Map<string, SourceNode>();
  const owners = new Map<string, string>();
  const categories: FileCategory[] = [];
  const skipped = new Map<string, { id: string; location: string; reason: string }>();
  for (const node of nodes) {
    const { key, name, parentKey, location } = node;
    const same = nodesByKey.get(key);
    if (same !== undefined) {
      if (same.name !== name || same.parentKey !== parentKey)
        faults.push(`${location}: ${asPath(key)} has another name or parent at ${same.location}`);
      continue;
    }
    nodesByKey.set(key, node);
    const id = idOf(key);
    const owner = owners.get(id);
    if (owner !== undefined)
      faults.push(`${location}: ${asPath(key)} gets the same id ${id} as ${asPath(owner)}`);
    owners.set(id, key);
    const parent = parentKey === undefined ? undefined : nodesByKey.get(parentKey);
    if (parentKey !== undefined && parent === undefined) {
      faults.push(`${location}: expected its parent ${asPath(parentKey)} in the file, and not below itself`);
    } else if (name === undefined || name.trim() === '') {
      skipped.set(key, { id, location: `${location} (${asPath(key)})`, reason: 'it has no name' });
    } else if (parentKey !== undefined && skipped.has(parentKey)) {
      const reason = `its parent ${asPath(parentKey)} is skipped`;
      skipped.set(key, { id, location: `${location} (${asPath(key)})`, reason });
    } else {
      const problem = problemOf(name);
      if (problem !== undefined) faults.push(`${location}: ${problem}`);
      categories.push({ id, parentId: parentKey === undefined ? null : idOf(parentKey), name, location });
    }
  }
  return { categories, skipped: [...skipped.values()] };
}

/** The key of a node without an id, as a path. */
function asPath(key: string): string {
  return key.replaceAll('\n', ' > ');
}

function problemOf(name: string): string | undefined {
  if (name.length > MAX.characters)
    return `a name of ${name.length} characters: expected at most ${MAX.characters}`;
  const character = forbiddenCharacter(name);
  return character === undefined
    ? undefined
    : `${JSON.stringify(name)} contains a character that XML forbids`;
}

const INTEGER = /^[1-9]\d{0,14}$/;

/** A numeric id for a source's id or path: a hash of 15 digits, the same at each import. */
function idOf(key: string): string {
  if (INTEGER.test(key)) return key;
  const digest = BigInt(`0x${hash('sha256', key).slice(0, 16)}`);
  return String(100_000_000_000_000n + (digest % 900_000_000_000_000n));
}

/** Names of properties in files that shops publish: the children, the id of the parent, the path as text. */
const CHILDREN = ['children', 'subCategories', 'subcategories', 'categories', 'nodes'] as const;
const PARENT = ['parentId', 'parent_id', 'parentID', 'parent'] as const;
const PATH = ['path', 'fullPath', 'full_path', 'fullName', 'full_name'] as const;

interface Parent {
  readonly key: string | undefined;
  readonly names: readonly string[];
}

/**
 * The nodes of a JSON file: lists of `{ id?, name, children? }`, of nodes with the id of their parent, or of nodes with
 * their path from the root, as a list or as text (`A > B`); or an object from ids to such texts or back. Children of a
 * node with a path are only links and are ignored.
 */
function nodesOfJson(text: string, faults: string[]): readonly SourceNode[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    faults.push(`expected JSON: ${String(error)}`);
    return [];
  }
  const found: SourceNode[] = [];
  const paths: PathEntry[] = [];
  const add = (value: unknown, parent: Parent, location: string): Parent | undefined => {
    const node = typeof value === 'string' ? { name: value } : value;
    if (!isPosted(node)) return void faults.push(`${location}: expected a category, got ${shortJson(value)}`);
    const id = postedId(node['id']);
    const name = node['name'] ?? undefined;
    if (id === null)
      return void faults.push(
        `${location}.id: expected a string or an integer, got ${shortJson(node['id'])}`,
      );
    if (name !== undefined && typeof name !== 'string')
      return void faults.push(`${location}.name: expected a string, got ${shortJson(name)}`);
    if (parent.names.length >= MAX_LEVELS)
      return void faults.push(`${location}: expected at most ${MAX_LEVELS} levels`);
    const names = [...parent.names, name ?? ''];
    const key = id ?? pathKey(names);
    found.push({ key, name, parentKey: parent.key, location });
    return { key, names };
  };
  const walk = (value: unknown, parent: Parent, location: string): void => {
    if (isPosted(value) && Array.isArray(value['path']) && value['path'].length > 0) {
      let at: Parent | undefined = { key: undefined, names: [] };
      for (const [index, one] of value['path'].entries())
        at = at && add(one, at, `${location}.path[${index}]`);
      if (at !== undefined && at.key !== (postedId(value['id']) ?? at.key))
        faults.push(`${location}.path: expected a path that ends with the category itself`);
      return;
    }
    const names = parent.key === undefined && isPosted(value) ? textPathOf(value) : undefined;
    const id = isPosted(value) ? postedId(value['id']) : null;
    if (names !== undefined && id !== null) return void paths.push({ id, names, location });
    const at = add(value, parent.key === undefined ? (referredParent(value) ?? parent) : parent, location);
    if (at === undefined || !isPosted(value)) return;
    for (const name of CHILDREN) walkList(value[name], at, `${location}.${name}`);
  };
  const walkList = (list: unknown, parent: Parent, location: string): void => {
    if (list === undefined || list === null) return;
    if (!Array.isArray(list)) return void faults.push(`${location}: expected a list, got ${shortJson(list)}`);
    for (const [index, value] of list.entries()) walk(value, parent, `${location}[${index}]`);
  };
  const root: Parent = { key: undefined, names: [] };
  const [list, ...others] = isPosted(json)
    ? Object.entries(json).filter(([, value]) => Array.isArray(value))
    : [];
  const entries = isPosted(json) ? entriesOf(json) : undefined;
  if (entries !== undefined) paths.push(...entries);
  else if (Array.isArray(json)) walkList(json, root, '$');
  else if (list === undefined || others.length > 0)
    faults.push('$: expected a list, or an object with one list');
  else walkList(list[1], root, `$.${list[0]}`);
  const roots = found.filter(({ parentKey }) => parentKey === undefined);
  return [...parentsFirst(found), ...nodesOfPaths(paths, faults, roots)];
}

/**
 * The path of a node that has it as text, or in place of its name. Other texts may be called so (`/garden/tools`,
 * `1/2/41`): it ends with the name of the node, if that has one. A node with children or a parent has its place by
 * them.
 */
function textPathOf(node: Posted): readonly string[] | undefined {
  const hasChildren = CHILDREN.some((key) => Array.isArray(node[key]) && node[key].length > 0);
  if (hasChildren || referredParent(node) !== undefined) return undefined;
  const name = node['name'] ?? undefined;
  for (const text of PATH.map((key) => node[key])) {
    if (typeof text !== 'string' || text === '') continue;
    const names = namesOf(text);
    if (name === undefined || name === names.at(-1)) return names;
  }
  return typeof name === 'string' && name.includes(' > ') ? namesOf(name) : undefined;
}

/** The parent of a node that refers to it by its id; 0 is none. */
function referredParent(node: unknown): Parent | undefined {
  if (!isPosted(node)) return undefined;
  const id = PARENT.map((key) => postedId(node[key])).find((one) => typeof one === 'string' && one !== '0');
  return typeof id === 'string' ? { key: id, names: [id] } : undefined;
}

function entriesOf(json: Posted): readonly PathEntry[] | undefined {
  const pairs = Object.entries(json).map(([key, value]) => [key, String(postedId(value))] as const);
  const values = Object.values(json);
  const isText = values.every((value) => typeof value === 'string' || typeof value === 'number');
  const hasPath = pairs.some((pair) => pair.some((text) => text.includes(' > ')));
  if (!isText || !hasPath) return undefined;
  const isId = (text: string): boolean => ID.test(text);
  const areIds = pairs.every(([key]) => isId(key));
  if (!areIds && !pairs.every(([, value]) => isId(value))) return undefined;
  return pairs.map(([key, value]) => {
    const [id, path] = areIds ? [key, value] : [value, key];
    return { id, names: namesOf(path), location: `$[${JSON.stringify(key)}]` };
  });
}

/** In an order in which parents precede their children; last those whose parent is missing, or below themselves. */
function parentsFirst(nodes: readonly SourceNode[]): readonly SourceNode[] {
  const placed = new Set<string>();
  const ordered: SourceNode[] = [];
  const waiting = new Map<string, SourceNode[]>();
  for (const node of nodes) {
    const { parentKey } = node;
    if (parentKey !== undefined && !placed.has(parentKey)) {
      const siblings = waiting.get(parentKey);
      if (siblings === undefined) waiting.set(parentKey, [node]);
      else siblings.push(node);
      continue;
    }
    // A list of what can be placed now, which grows while it is read.
    const ready = [node];
    for (const one of ready) {
      ordered.push(one);
      placed.add(one.key);
      for (const child of waiting.get(one.key) ?? []) ready.push(child);
      waiting.delete(one.key);
    }
  }
  return [...ordered, ...[...waiting.values()].flat()];
}

/** Undefined if absent, null if invalid. */
function postedId(id: unknown): string | undefined | null {
  if (id === undefined || id === null || id === '') return undefined;
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id);
  return typeof id === 'string' && id.length <= 200 && !id.includes('\n') ? id : null;
}

/** A category as a file describes it; several nodes may describe the same one. */
interface SourceNode {
  /** The source's id, or the path. */
  readonly key: string;
  readonly name: string | undefined;
  readonly parentKey: string | undefined;
  readonly location: string;
}

/** Maximum depth of a tree, so that a file cannot exhaust the stack. */
const MAX_LEVELS = 50;

/** The key of a path; ids contain no line breaks, so keys are unambiguous. */
function pathKey(names: readonly string[]): string {
  return names.join('\n');
}

/** Separators after an id: `166 - A > B`, a tab, `166 > A > B`. */
const STYLES = [/^(\S+)\s+-\s+(.*)$/, /^([^\s>]+)\t(.*)$/, /^([^\s>]+)\s*>\s*(.*)$/] as const;

/** Distinguishes an id from a name. */
const ID = /^(?:\d+|[a-z_-]*\d{3,}[\w-]*)$/i;

/** A category with its path from the root. */
interface PathEntry {
  readonly id: string | undefined;
  readonly names: readonly string[];
  readonly location: string;
}

/**
 * The nodes of a file of lines, each with the path of a category from the root, separated by `>`. The first line
 * determines whether and how ids precede the paths. Lines that begin with `#` are comments.
 */
function nodesOfLines(text: string, faults: string[]): readonly SourceNode[] {
  return nodesOfPaths(pathsIn(text, faults), faults);
}

/** The names of a path that is written as text: `A > B`. */
function namesOf(path: string): readonly string[] {
  return path.split('>').map((name) => name.trim());
}

/** The nodes of these paths, and of all above them that are not among `roots`. */
function nodesOfPaths(
  entries: readonly PathEntry[],
  faults: string[],
  roots: readonly SourceNode[] = [],
): readonly SourceNode[] {
  const keys = new Map(roots.map(({ name = '', key }) => [name, key]));
  for (const { id, names, location } of entries) {
    const path = pathKey(names);
    if (keys.has(path)) faults.push(`${location}: ${names.join(' > ')} is a duplicate`);
    else keys.set(path, id ?? path);
  }
  const found: SourceNode[] = [];
  const added = new Set(roots.map(({ name = '' }) => name));
  const addNode = (names: readonly string[], location: string): string => {
    const path = pathKey(names);
    const key = keys.get(path) ?? path;
    if (added.has(path)) return key;
    added.add(path);
    const parentKey = names.length === 1 ? undefined : addNode(names.slice(0, -1), location);
    found.push({ key, name: names.at(-1), parentKey, location });
    return key;
  };
  for (const { names, location } of entries) {
    if (names.length > MAX_LEVELS) faults.push(`${location}: expected at most ${MAX_LEVELS} levels`);
    else addNode(names, location);
  }
  return found;
}

function pathsIn(text: string, faults: string[]): readonly PathEntry[] {
  let style: RegExp | undefined;
  const entries: PathEntry[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const location = `line ${index + 1}`;
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (entries.length === 0) style = STYLES.find((one) => ID.test(one.exec(line)?.[1] ?? ''));
    const [, id, path = line] = style?.exec(line) ?? [];
    if (style !== undefined && !ID.test(id ?? ''))
      faults.push(`${location}: expected an id at the start, as in the first line, got ${line.slice(0, 80)}`);
    entries.push({ id, names: namesOf(path), location });
  }
  return entries;
}

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
