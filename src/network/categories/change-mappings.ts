import { NamedError } from '../../kernel/fault';
import { type Ids } from '../../kernel/event';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { NoGeneration } from '../../kernel/read-store';
import { forbiddenCharacter } from '../../wire/xml/write';
import { type CsvRow, csvRows } from '../../wire/csv/rows';
import { type AppendedFacts, appendFacts, type Fact, factOf } from '../decider';
import { type Directory } from '../directory';
import { type FollowedDirectory } from '../follower';
import { type FeedCounts } from './category-counts';

/** Maps a category name of a feed; without `categoryId` it removes the mapping. */
export interface MappingChange {
  readonly feedId: number;
  readonly name: string;
  readonly categoryId?: string;
}

/** A line of an import: a change, or why it cannot be read. */
export interface MappingLine {
  /** From 1. */
  readonly line: number;
  readonly change: MappingChange | { readonly problem: string };
}

export const outcomes = ['mapped', 'unmapped', 'unchanged', 'refused'] as const;

interface MappingOutcome {
  readonly line: number;
  readonly outcome: (typeof outcomes)[number];
  /** Why it was refused, or that no product has the name that is mapped. */
  readonly message?: string;
}

/** Counts the products of feeds, by their categories. Raises `EngineUnavailable` and `NoGeneration`. */
export type CountFeeds = (
  feedIds: readonly number[],
) => Promise<readonly { readonly feedId: number; readonly counts: Pick<FeedCounts, 'posted'> }[]>;

/** What changes of mappings would append, and the outcome of each line. */
export interface MappingPlan {
  readonly facts: readonly Fact[];
  readonly report: readonly MappingOutcome[];
}

const MAX_NAME = 1000;

/**
 * Applies mapping changes line by line: valid lines take effect, the others are reported. A line that changes nothing
 * appends no event. Of several valid lines for one name, the last one counts. Raises `EngineUnavailable` if the
 * directory does not reach the end of the log in time.
 */
export async function changeMappings(
  uuids: Ids,
  log: EventLog,
  follower: Pick<FollowedDirectory, 'directory' | 'reachedInTime'>,
  lines: readonly MappingLine[],
  { at, count }: { readonly at: string; readonly count: CountFeeds },
): Promise<AppendedFacts & MappingPlan> {
  // A line that changes nothing, by what this process knew before, may undo what another one has done.
  await follower.reachedInTime(await log.head());
  const { directory } = follower;
  const plan = planMappings(directory, lines, at);
  const appended = await appendFacts(uuids, log, plan.facts, directory);
  return { ...appended, facts: plan.facts, report: await notingUnused(plan.report, lines, count) };
}

/**
 * The report, with a message for each mapped name that no product has: it may be mistyped. Without one while products
 * cannot be counted, which must not prevent the change.
 */
export async function notingUnused(
  report: MappingPlan['report'],
  lines: readonly MappingLine[],
  count: CountFeeds,
): Promise<MappingPlan['report']> {
  const mapped = new Map<number, MappingChange>();
  for (const [at, { change }] of lines.entries())
    if ('categoryId' in change && report[at]?.outcome !== 'refused') mapped.set(at, change);
  if (mapped.size === 0) return report;
  const feedIds = new Set([...mapped.values()].map(({ feedId }) => feedId));
  const counted = await count([...feedIds]).catch((error: unknown) => {
    if (error instanceof EngineUnavailable || error instanceof NoGeneration) return [];
    throw error;
  });
  const used = new Map(
    counted.map(({ feedId, counts }) => {
      const names = counts.posted.map(({ name }) => name);
      return [feedId, { names: new Set(names), similar: new Map(names.map((one) => [plain(one), one])) }];
    }),
  );
  return report.map((one, at) => {
    const change = mapped.get(at);
    const known = used.get(change?.feedId ?? NaN);
    if (change === undefined || known === undefined || known.names.has(change.name)) return one;
    const meant = known.similar.get(plain(change.name));
    const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
    return { ...one, message: `no product of feed ${change.feedId} has this name${hint}` };
  });
}

/** Equal for names that differ in case or white space only. */
function plain(name: string): string {
  return name.toLowerCase().replace(/\s/g, '');
}

/** Decides what `changeMappings` appends and reports. */
export function planMappings(directory: Directory, lines: readonly MappingLine[], at: string): MappingPlan {
  const validated = lines.map(({ line, change }) => ({ line, change: validate(change, directory) }));
  const last = new Map<string, number>();
  for (const { line, change } of validated) if (!('problem' in change)) last.set(keyOf(change), line);
  const facts: Fact[] = [];
  const report = validated.map(({ line, change }): MappingOutcome => {
    const refused = (message: string): MappingOutcome => ({ line, outcome: 'refused', message });
    if ('problem' in change) return refused(change.problem);
    const later = last.get(keyOf(change));
    if (later !== undefined && later !== line) return refused(`replaced by line ${later}`);
    const { feedId, name, categoryId } = change;
    if (directory.categories.mappingsOf(feedId).get(name) === categoryId)
      return { line, outcome: 'unchanged' };
    facts.push(
      categoryId === undefined
        ? factOf({ type: 'CategoryUnmapped', data: { feedId, name, at } })
        : factOf({ type: 'CategoryMapped', data: { feedId, name, categoryId, at } }),
    );
    return { line, outcome: categoryId === undefined ? 'unmapped' : 'mapped' };
  });
  return { facts, report };
}

function keyOf({ feedId, name }: MappingChange): string {
  return JSON.stringify([feedId, name]);
}

function validate(change: MappingLine['change'], directory: Directory): MappingLine['change'] {
  const problem = 'problem' in change ? undefined : problemOf(change, directory);
  return problem === undefined ? change : { problem };
}

function problemOf({ feedId, name, categoryId }: MappingChange, directory: Directory): string | undefined {
  if (directory.feed(feedId) === undefined) return `feedId=${feedId}: expected the id of a feed`;
  if (name.trim() === '') return 'name is missing: expected the name of a category in the feed';
  if (name.length > MAX_NAME) return `name has ${name.length} characters: expected at most ${MAX_NAME}`;
  if (forbiddenCharacter(name) !== undefined) return 'name contains a character that XML forbids';
  if (categoryId !== undefined && directory.category(categoryId) === undefined)
    return `categoryId=${categoryId}: expected the id of a platform category`;
  return undefined;
}

export const MAX_LINES = 200_000;

const COLUMNS = ['feedId', 'name', 'categoryId'] as const;

/** The CSV text cannot be used at all; no line has been read. */
export class UnusableCsv extends NamedError {}

/**
 * The lines of a CSV text. Its first line must name the columns `feedId`, `name` and `categoryId`, in any order; other
 * columns are ignored. An empty `categoryId` unmaps the name. Raises `UnusableCsv`.
 */
export function mappingLines(text: string): readonly MappingLine[] {
  return mappingLinesOf([...csvRows(text.replace(/^\ufeff/, ''))]);
}

/** The same of the rows of a text. */
export function mappingLinesOf([header, ...rows]: readonly CsvRow[]): readonly MappingLine[] {
  const names = header?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
  const [feedAt, nameAt, categoryAt] = COLUMNS.map((column) => names.indexOf(column.toLowerCase()));
  if (feedAt === undefined || nameAt === undefined || categoryAt === undefined) return [];
  if (Math.min(feedAt, nameAt, categoryAt) < 0)
    throw new UnusableCsv(`expected the columns ${COLUMNS.join(', ')} in the first line`);
  const repeated = COLUMNS.find((column) => {
    const name = column.toLowerCase();
    return names.indexOf(name) !== names.lastIndexOf(name);
  });
  if (repeated !== undefined)
    throw new UnusableCsv(`the first line has the column ${repeated} more than once: expected it once`);
  if (rows.length > MAX_LINES) throw new UnusableCsv(`${rows.length} lines: expected at most ${MAX_LINES}`);
  return rows.map(({ line, cells }) => {
    if (cells.length !== names.length)
      return {
        line,
        change: { problem: `${cells.length} columns: expected ${names.length}, as in the first line` },
      };
    const feed = cells[feedAt]?.trim() ?? '';
    const categoryId = cells[categoryAt]?.trim() ?? '';
    if (!/^\d{1,15}$/.test(feed)) return { line, change: { problem: `feedId=${feed}: expected an integer` } };
    const change = { feedId: Number(feed), name: cells[nameAt] ?? '' };
    return { line, change: categoryId === '' ? change : { ...change, categoryId } };
  });
}
