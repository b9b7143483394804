/** What a file says of a category; of one, several nodes may speak. */
export interface SourceNode {
  /** The source's id, or the path. */
  readonly key: string;
  readonly name: string | undefined;
  readonly parentKey: string | undefined;
  readonly place: string;
}

/** Levels that a tree may have: a file is not to be able to exhaust the stack. */
export const MOST_LEVELS = 50;

/** What children are called in the files that shops publish. */
const CHILDREN = ['children', 'subCategories', 'subcategories', 'categories', 'nodes'] as const;

/** What a path is called by as a key: no id has a line end. */
export function pathKey(names: readonly string[]): string {
  return names.join('\n');
}

interface Above {
  readonly key: string | undefined;
  readonly names: readonly string[];
}

/**
 * The nodes of a JSON file: lists of `{ id?, name, children? }`, or of nodes that tell their `path` from the root. What
 * such a node names below itself are links: it has an entry of its own, or is none.
 */
export function nodesOfJson(text: string, faults: string[]): readonly SourceNode[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    faults.push(`not JSON: ${String(error)}`);
    return [];
  }
  const found: SourceNode[] = [];
  const add = (value: unknown, above: Above, place: string): Above | undefined => {
    const node = typeof value === 'string' ? { name: value } : value;
    if (!isObject(node)) return void faults.push(`${place}: ${shown(value)} is not a category`);
    const id = idOf(node['id']);
    const name = node['name'] ?? undefined;
    if (id === null) return void faults.push(`${place}.id: ${shown(node['id'])} is not a text or an integer`);
    if (name !== undefined && typeof name !== 'string')
      return void faults.push(`${place}.name: ${shown(name)} is not a text`);
    if (above.names.length >= MOST_LEVELS)
      return void faults.push(`${place}: more than ${MOST_LEVELS} levels`);
    const names = [...above.names, name ?? ''];
    const key = id ?? pathKey(names);
    found.push({ key, name, parentKey: above.key, place });
    return { key, names };
  };
  const walk = (value: unknown, above: Above, place: string): void => {
    if (isObject(value) && Array.isArray(value['path']) && value['path'].length > 0) {
      let at: Above | undefined = { key: undefined, names: [] };
      for (const [index, one] of value['path'].entries()) at = at && add(one, at, `${place}.path[${index}]`);
      if (at !== undefined && at.key !== (idOf(value['id']) ?? at.key))
        faults.push(`${place}.path: it does not end with the category itself`);
      return;
    }
    const at = add(value, above, place);
    if (at === undefined || !isObject(value)) return;
    for (const name of CHILDREN) walkList(value[name], at, `${place}.${name}`);
  };
  const walkList = (list: unknown, above: Above, place: string): void => {
    if (list === undefined || list === null) return;
    if (!Array.isArray(list)) return void faults.push(`${place}: ${shown(list)} is not a list`);
    for (const [index, value] of list.entries()) walk(value, above, `${place}[${index}]`);
  };
  const top: Above = { key: undefined, names: [] };
  const [list, ...others] = isObject(json)
    ? Object.entries(json).filter(([, value]) => Array.isArray(value))
    : [];
  if (Array.isArray(json)) walkList(json, top, '$');
  else if (list === undefined || others.length > 0)
    faults.push('$: neither a list nor an object with one list');
  else walkList(list[1], top, `$.${list[0]}`);
  return found;
}

/** Undefined without one, null where it is none. */
function idOf(id: unknown): string | undefined | null {
  if (id === undefined || id === null || id === '') return undefined;
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id);
  return typeof id === 'string' && id.length <= 200 && !id.includes('\n') ? id : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
