import { hash } from 'node:crypto';
import { forbiddenCharacter } from '../wire/characters';
import { type SourceNode, nodesOfJson } from './category-json';
import { nodesOfLines } from './category-lines';

/** Characters of a name, nodes of a file, faults that are told. */
const MOST = { characters: 1000, nodes: 50_000, faults: 1000 } as const;

/** A category of a file, as the tree will have it. */
export interface FileCategory {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  /** Where it stands in the file: `line 12`, `$[3].children[0]`. */
  readonly place: string;
}

export interface CategoryFile {
  /** Parents before their children. */
  readonly categories: readonly FileCategory[];
  /** Nodes without a name, and those below them: the ids they would have, and why they are left out. */
  readonly leftOut: readonly { readonly id: string; readonly place: string; readonly why: string }[];
}

/** A file that cannot be taken: everything that is wrong with it, a line each. */
export class CategoryFaults extends Error {
  override readonly name = 'CategoryFaults';
  constructor(readonly faults: readonly string[]) {
    const more = faults.length - MOST.faults;
    super([...faults.slice(0, MOST.faults), ...(more > 0 ? [`${more} more faults`] : [])].join('\n'));
  }
}

/**
 * Reads a published category tree: JSON, nested or a list of nodes with their paths, or lines of paths. Ids are those of
 * the source where they are whole numbers, else allotted (`docs/decisions.md#p29`). Raises `CategoryFaults`.
 */
export function readCategories(text: string): CategoryFile {
  const faults: string[] = [];
  const isJson = /^\s*[[{]/.test(text);
  const nodes = isJson ? nodesOfJson(text, faults) : nodesOfLines(text, faults);
  if (nodes.length > MOST.nodes)
    throw new CategoryFaults([`${nodes.length} categories, ${MOST.nodes} at most`]);
  const read = joined(nodes, faults);
  if (nodes.length === 0 && faults.length === 0) faults.push('no category is in it');
  if (faults.length > 0) throw new CategoryFaults(faults);
  return read;
}

/** Makes one category of all the nodes that speak of it, and finds its parent. */
function joined(nodes: readonly SourceNode[], faults: string[]): CategoryFile {
  const known = new Map<string, SourceNode>();
  const owners = new Map<string, string>();
  const categories: FileCategory[] = [];
  const leftOut = new Map<string, { id: string; place: string; why: string }>();
  for (const node of nodes) {
    const { key, name, parentKey, place } = node;
    const same = known.get(key);
    if (same !== undefined) {
      if (same.name !== name || same.parentKey !== parentKey)
        faults.push(`${place}: ${shown(key)} stands at ${same.place} with another name or parent`);
      continue;
    }
    known.set(key, node);
    const id = idOf(key);
    const owner = owners.get(id);
    if (owner !== undefined)
      faults.push(`${place}: ${shown(key)} gets the id ${id}, as ${shown(owner)} does`);
    owners.set(id, key);
    const parent = parentKey === undefined ? undefined : known.get(parentKey);
    if (parentKey !== undefined && parent === undefined) {
      faults.push(`${place}: its parent ${shown(parentKey)} is not in the file before it`);
    } else if (name === undefined || name.trim() === '') {
      leftOut.set(key, { id, place: `${place} (${shown(key)})`, why: 'it has no name' });
    } else if (parentKey !== undefined && leftOut.has(parentKey)) {
      leftOut.set(key, {
        id,
        place: `${place} (${shown(key)})`,
        why: `it is below ${shown(parentKey)}, which is left out`,
      });
    } else {
      const problem = problemOf(name);
      if (problem !== undefined) faults.push(`${place}: ${problem}`);
      categories.push({ id, parentId: parentKey === undefined ? null : idOf(parentKey), name, place });
    }
  }
  return { categories, leftOut: [...leftOut.values()] };
}

/** A path as it is written. */
function shown(key: string): string {
  return key.replaceAll('\n', ' > ');
}

function problemOf(name: string): string | undefined {
  if (name.length > MOST.characters) return `a name of ${name.length} characters, ${MOST.characters} at most`;
  const character = forbiddenCharacter(name);
  return character === undefined
    ? undefined
    : `${JSON.stringify(name)} has a character that XML does not admit`;
}

const WHOLE = /^[1-9]\d{0,14}$/;

/** The number of a source's id or path: the same at each import, and with 15 digits no other's. */
function idOf(key: string): string {
  if (WHOLE.test(key)) return key;
  const digest = BigInt(`0x${hash('sha256', key).slice(0, 16)}`);
  return String(100_000_000_000_000n + (digest % 900_000_000_000_000n));
}
