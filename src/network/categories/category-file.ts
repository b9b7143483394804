import { hash } from 'node:crypto';
import { forbiddenCharacter } from '../../wire/characters';
import { nodesOfJson } from './category-json';
import { nodesOfLines, type SourceNode } from './category-lines';

/** Limits: characters of a name, nodes of a file, reported faults. */
const MAX = { characters: 1000, nodes: 50_000, faults: 1000 } as const;

/** A category of a file with its id in the platform tree. */
export interface FileCategory {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  /** Location in the file: `line 12`, `$[3].children[0]`. */
  readonly location: string;
}

export interface CategoryFile {
  /** Parents before their children. */
  readonly categories: readonly FileCategory[];
  /** Nodes without a name and their descendants, with the ids they would have. */
  readonly skipped: readonly { readonly id: string; readonly location: string; readonly reason: string }[];
}

/** An invalid file; the message lists all faults, one per line. */
export class CategoryFaults extends Error {
  override readonly name = 'CategoryFaults';
  constructor(readonly faults: readonly string[]) {
    const more = faults.length - MAX.faults;
    super([...faults.slice(0, MAX.faults), ...(more > 0 ? [`${more} more faults`] : [])].join('\n'));
  }
}

/**
 * Reads a published category tree: JSON (nested, or a list of nodes with their parents or paths) or lines of paths. Integer ids
 * of the source are retained, others are assigned (`docs/decisions.md#p29`). Raises `CategoryFaults`.
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
      skipped.set(key, {
        id,
        location: `${location} (${asPath(key)})`,
        reason: `its parent ${asPath(parentKey)} is skipped`,
      });
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
