import { MOST_LEVELS, pathKey, type SourceNode } from './category-json';

/** How a line begins with an id: `166 - A > B`, a tab, `166 > A > B`. */
const STYLES = [/^(\S+)\s+-\s+(.*)$/, /^([^\s>]+)\t(.*)$/, /^([^\s>]+)\s*>\s*(.*)$/] as const;

/** What is an id rather than a name. */
const ID = /^(?:\d+|[a-z_-]*\d{3,}[\w-]*)$/i;

interface Line {
  readonly id: string | undefined;
  readonly names: readonly string[];
  readonly place: string;
}

/**
 * The nodes of a file of lines, each the path of a category from the root, its names with `>` between them. Whether an
 * id stands before the paths, and how, is as in the first line. Lines that begin with `#` are comments.
 */
export function nodesOfLines(text: string, faults: string[]): readonly SourceNode[] {
  const lines = linesOf(text, faults);
  const keys = new Map<string, string>();
  for (const { id, names, place } of lines) {
    const path = pathKey(names);
    if (keys.has(path)) faults.push(`${place}: ${names.join(' > ')} stands there already`);
    else keys.set(path, id ?? path);
  }
  const found: SourceNode[] = [];
  const told = new Set<string>();
  const tell = (names: readonly string[], place: string): string => {
    const path = pathKey(names);
    const key = keys.get(path) ?? path;
    if (told.has(path)) return key;
    told.add(path);
    const parentKey = names.length === 1 ? undefined : tell(names.slice(0, -1), place);
    found.push({ key, name: names.at(-1), parentKey, place });
    return key;
  };
  for (const { names, place } of lines) tell(names, place);
  return found;
}

function linesOf(text: string, faults: string[]): readonly Line[] {
  let style: RegExp | undefined;
  const lines: Line[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const place = `line ${index + 1}`;
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (lines.length === 0) style = STYLES.find((one) => ID.test(one.exec(line)?.[1] ?? ''));
    const [, id, path = line] = style?.exec(line) ?? [];
    if (style !== undefined && !ID.test(id ?? ''))
      faults.push(`${place}: ${line.slice(0, 80)} does not begin with an id, as the first line does`);
    const names = path.split('>').map((name) => name.trim());
    if (names.length > MOST_LEVELS) faults.push(`${place}: more than ${MOST_LEVELS} levels`);
    else lines.push({ id, names, place });
  }
  return lines;
}
