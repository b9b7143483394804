import { shortJson } from '../../wire/json/write';
import { isPosted, type Posted } from '../../wire/api/posted';
import {
  ID,
  MAX_LEVELS,
  namesOf,
  nodesOfPaths,
  type PathEntry,
  pathKey,
  type SourceNode,
} from './category-lines';

/** Names of properties in files that shops publish: the children, the id of the parent, the path as text. */
const CHILDREN = ['children', 'subCategories', 'subcategories', 'categories', 'nodes'] as const;
const PARENT = ['parentId', 'parent_id', 'parentID', 'parent'] as const;
const PATH = ['path', 'fullPath', 'full_path', 'fullName', 'full_name'] as const;

interface Parent {
  readonly key: string | undefined;
  readonly names: readonly string[];
}

/**
 * The nodes of a JSON file: lists of `{ id?, name, children? }`, of nodes with the id of their parent, or of nodes with their
 * path from the root, as a list or as text (`A > B`); or an object from ids to such texts or back. Children of a node with a
 * path are only links and are ignored.
 */
export function nodesOfJson(text: string, faults: string[]): readonly SourceNode[] {
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
    const id = idOf(node['id']);
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
      if (at !== undefined && at.key !== (idOf(value['id']) ?? at.key))
        faults.push(`${location}.path: expected a path that ends with the category itself`);
      return;
    }
    const names = parent.key === undefined && isPosted(value) ? textPathOf(value) : undefined;
    const id = isPosted(value) ? idOf(value['id']) : null;
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
 * The path of a node that has it as text, or in place of its name. Other texts may be called so (`/garden/tools`, `1/2/41`): it
 * ends with the name of the node, if that has one. A node with children or a parent has its place by them.
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
  const id = PARENT.map((key) => idOf(node[key])).find((one) => typeof one === 'string' && one !== '0');
  return typeof id === 'string' ? { key: id, names: [id] } : undefined;
}

/** An object from ids to paths, or from paths to ids. */
function entriesOf(json: Posted): readonly PathEntry[] | undefined {
  const pairs = Object.entries(json).map(([key, value]) => [key, String(idOf(value))] as const);
  const values = Object.values(json);
  const isText = values.every((value) => typeof value === 'string' || typeof value === 'number');
  const hasPath = pairs.some((pair) => pair.some((text) => text.includes(' > ')));
  if (!isText || !hasPath) return undefined;
  const isId = (text: string): boolean => ID.test(text);
  const entry = (id: string, path: string, key: string): PathEntry => ({
    id,
    names: namesOf(path),
    location: `$[${JSON.stringify(key)}]`,
  });
  if (pairs.every(([key]) => isId(key))) return pairs.map(([id, path]) => entry(id, path, id));
  if (pairs.every(([, value]) => isId(value))) return pairs.map(([path, id]) => entry(id, path, path));
  return undefined;
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
function idOf(id: unknown): string | undefined | null {
  if (id === undefined || id === null || id === '') return undefined;
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id);
  return typeof id === 'string' && id.length <= 200 && !id.includes('\n') ? id : null;
}
