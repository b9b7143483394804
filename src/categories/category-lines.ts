import { MAX_LEVELS, pathKey, type SourceNode } from './category-json';

/** Separators after an id: `166 - A > B`, a tab, `166 > A > B`. */
const STYLES = [/^(\S+)\s+-\s+(.*)$/, /^([^\s>]+)\t(.*)$/, /^([^\s>]+)\s*>\s*(.*)$/] as const;

/** Distinguishes an id from a name. */
const ID = /^(?:\d+|[a-z_-]*\d{3,}[\w-]*)$/i;

interface Line {
  readonly id: string | undefined;
  readonly names: readonly string[];
  readonly location: string;
}

/**
 * The nodes of a file of lines, each with the path of a category from the root, separated by `>`. The first line
 * determines whether and how ids precede the paths. Lines that begin with `#` are comments.
 */
export function nodesOfLines(text: string, faults: string[]): readonly SourceNode[] {
  const lines = linesOf(text, faults);
  const keys = new Map<string, string>();
  for (const { id, names, location } of lines) {
    const path = pathKey(names);
    if (keys.has(path)) faults.push(`${location}: ${names.join(' > ')} is a duplicate`);
    else keys.set(path, id ?? path);
  }
  const found: SourceNode[] = [];
  const added = new Set<string>();
  const addNode = (names: readonly string[], location: string): string => {
    const path = pathKey(names);
    const key = keys.get(path) ?? path;
    if (added.has(path)) return key;
    added.add(path);
    const parentKey = names.length === 1 ? undefined : addNode(names.slice(0, -1), location);
    found.push({ key, name: names.at(-1), parentKey, location });
    return key;
  };
  for (const { names, location } of lines) addNode(names, location);
  return found;
}

function linesOf(text: string, faults: string[]): readonly Line[] {
  let style: RegExp | undefined;
  const lines: Line[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const location = `line ${index + 1}`;
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (lines.length === 0) style = STYLES.find((one) => ID.test(one.exec(line)?.[1] ?? ''));
    const [, id, path = line] = style?.exec(line) ?? [];
    if (style !== undefined && !ID.test(id ?? ''))
      faults.push(`${location}: expected an id at the start, as in the first line, got ${line.slice(0, 80)}`);
    const names = path.split('>').map((name) => name.trim());
    if (names.length > MAX_LEVELS) faults.push(`${location}: expected at most ${MAX_LEVELS} levels`);
    else lines.push({ id, names, location });
  }
  return lines;
}
