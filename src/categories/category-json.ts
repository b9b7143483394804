import { shortJson } from '../wire/json-write';
import { isPosted } from '../wire/posted';

/** A category as a file describes it; several nodes may describe the same one. */
export interface SourceNode {
  /** The source's id, or the path. */
  readonly key: string;
  readonly name: string | undefined;
  readonly parentKey: string | undefined;
  readonly location: string;
}

/** Maximum depth of a tree, so that a file cannot exhaust the stack. */
export const MAX_LEVELS = 50;

/** Names of the children property in files that shops publish. */
const CHILDREN = ['children', 'subCategories', 'subcategories', 'categories', 'nodes'] as const;

/** The key of a path; ids contain no line breaks, so keys are unambiguous. */
export function pathKey(names: readonly string[]): string {
  return names.join('\n');
}

interface Parent {
  readonly key: string | undefined;
  readonly names: readonly string[];
}

/**
 * The nodes of a JSON file: lists of `{ id?, name, children? }`, or of nodes with their `path` from the root. Children
 * of a node with a path are only links and are ignored.
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
    const at = add(value, parent, location);
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
  if (Array.isArray(json)) walkList(json, root, '$');
  else if (list === undefined || others.length > 0)
    faults.push('$: expected a list, or an object with one list');
  else walkList(list[1], root, `$.${list[0]}`);
  return found;
}

/** Undefined if absent, null if invalid. */
function idOf(id: unknown): string | undefined | null {
  if (id === undefined || id === null || id === '') return undefined;
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id);
  return typeof id === 'string' && id.length <= 200 && !id.includes('\n') ? id : null;
}
