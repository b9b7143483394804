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

/** The key of a path; ids contain no line breaks, so keys are unambiguous. */
export function pathKey(names: readonly string[]): string {
  return names.join('\n');
}

/** Separators after an id: `166 - A > B`, a tab, `166 > A > B`. */
const STYLES = [/^(\S+)\s+-\s+(.*)$/, /^([^\s>]+)\t(.*)$/, /^([^\s>]+)\s*>\s*(.*)$/] as const;

/** Distinguishes an id from a name. */
export const ID = /^(?:\d+|[a-z_-]*\d{3,}[\w-]*)$/i;

/** A category with its path from the root. */
export interface PathEntry {
  readonly id: string | undefined;
  readonly names: readonly string[];
  readonly location: string;
}

/**
 * The nodes of a file of lines, each with the path of a category from the root, separated by `>`. The first line
 * determines whether and how ids precede the paths. Lines that begin with `#` are comments.
 */
export function nodesOfLines(text: string, faults: string[]): readonly SourceNode[] {
  return nodesOfPaths(entriesOf(text, faults), faults);
}

/** The names of a path that is written as text: `A > B`. */
export function namesOf(path: string): readonly string[] {
  return path.split('>').map((name) => name.trim());
}

/** The nodes of these paths, and of all above them that are not among `roots`. */
export function nodesOfPaths(
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

function entriesOf(text: string, faults: string[]): readonly PathEntry[] {
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
