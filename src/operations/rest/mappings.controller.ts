import { Body, Controller, Delete, Get, Post } from '@nestjs/common';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { Clock } from '../../runtime/clock';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { WaitForReadModels } from '../../http/visible-writes';
import { Faults } from '../../kernel/fault';
import { CATEGORY_MAPPINGS, listMappings, mappingsText } from '../../network/categories/category-counts';
import {
  changeMappings,
  type MappingLine,
  outcomes,
  mappingLinesOf,
  MAX_LINES,
  UnusableCsv,
} from '../../network/categories/change-mappings';
import { suggestMappings } from '../../network/categories/suggest-mappings';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { mapInSlices } from '../../runtime/concurrency';
import { CountedFeeds } from '../../services/products/feed.queries';
import { operationsById, type Shape } from '../../wire/api/description';
import { isPosted, isUnset, Refusals, wrong } from '../../wire/api/posted';
import { postedItems } from '../../wire/api/posted-items';
import { csvRowsInSlices } from '../../wire/csv/rows';
import { type Keys } from '../../wire/keys/keys';
import { NotParsable, utf8Text } from '../../wire/bytes';
import { integer, score, text, wordOf } from '../../wire/record/kinds';
import { complete, recordReader } from '../../wire/record/read';
import { listOf, record } from '../../wire/record/record';
import { type ActionName } from '../actions';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, listKeys, REASON, suggestKeys, unmapKeys } from './operator-service';

/** Lines in one post. */
const MOST = 10_000;

/** A posted change; without `categoryId` a name is unmapped. */
const postedMapping = record({
  feedId: { kind: integer(), required: true, description: 'Feed', example: 1001 },
  name: {
    kind: text({ isSearched: true }),
    required: true,
    description: 'The advertiser’s name',
    example: 'Audio > Kopfhörer',
  },
  categoryId: {
    kind: text({ isSearched: true, orInteger: true }),
    description: 'The platform category; without it, the name is unmapped',
    example: '111',
  },
});

const REPORT = {
  name: 'MappingReport',
  kind: record({
    report: {
      kind: listOf(
        record({
          line: { kind: integer(), description: 'Line of the CSV, or index in the JSON list, from 1' },
          outcome: { kind: wordOf(...outcomes), description: 'Outcome of the line' },
          message: { kind: text(), optional: true, description: 'Why it was refused' },
        }),
        { each: 'line' },
      ),
      description: 'One for each line',
    },
  }),
} as const satisfies Shape;

const suggestion = record(
  {
    categoryId: { kind: text(), description: 'Id of the category' },
    path: { kind: text(), description: 'Its names from the root, in English' },
    score: { kind: score(), description: 'The best is 1' },
  },
  { name: 'SuggestedCategory' },
);

const SUGGESTED = {
  name: 'SuggestedMappings',
  kind: record({
    suggestions: {
      kind: listOf(
        record({
          feedId: { kind: integer(), optional: true, description: 'Feed' },
          categoryName: { kind: text(), description: 'The advertiser’s name' },
          productCount: { kind: integer(), optional: true, description: 'Products that have it' },
          suggestions: {
            kind: listOf(suggestion, { each: 'suggestion' }),
            description: 'Categories, the best first',
          },
        }),
        { each: 'mapping' },
      ),
      description: 'One for each name',
    },
  }),
} as const satisfies Shape;

const FEEDS = { fid: [1001] } as const;

/** Descriptions of the operations on category mappings (`docs/decisions.md#x60`). */
export const mappingOperations = operationsById({
  listMappings: {
    summary: 'List the category mappings of feeds',
    description: 'Includes mapped names that no product has.',
    example: FEEDS,
    answer: { name: CATEGORY_MAPPINGS.name, kind: CATEGORY_MAPPINGS.kind },
  },
  suggestMappings: {
    summary: 'Suggest platform categories for names',
    description:
      'Best first, with scores from 0 to 1. For feeds, the 1,000 unmapped names with the most products.',
    example: { ...FEEDS, most: 3 },
    answer: SUGGESTED,
  },
  changeMappings: {
    summary: 'Map and unmap category names',
    description:
      'Each line is validated separately; valid lines take effect. The first line of CSV names the columns, ' +
      'separated by commas, semicolons or tabs. A line without a category unmaps the name. Of several valid lines ' +
      'for one name, the last one counts. At most 16 MiB, 10,000 lines of JSON, each of at most 64 KiB, or 200,000 ' +
      'of CSV.',
    body: {
      name: 'PostedMappings',
      kind: record({
        mappings: {
          kind: listOf(postedMapping, { each: 'mapping', most: MOST }),
          required: true,
          description: 'One for each name',
        },
      }),
      examples: {
        csv: 'feedId,name,categoryId\n1001,Audio > Kopfhörer,111\n',
      },
    },
    answer: REPORT,
    partly: 'The report lists the refused lines; the others have taken effect.',
  },
  unmapName: {
    summary: 'Unmap a category name',
    example: { fid: 1001, name: 'Audio > Kopfhörer' },
    answer: REPORT,
    partly: 'The change was refused; see the report.',
  },
});

/** Maximum size of a posted list in bytes. */
const MAX_BODY = 16 * 1024 * 1024;
/** Maximum size of one change in bytes, and of its faults that are named. */
const MAX_ITEM = 64 * 1024;
const MOST_FAULTS = 20;
/** Suggestions for each name. */
const SUGGESTIONS = { default: 3, max: 20 } as const;

/** Category mappings for operators (`docs/decisions.md#x60`): the same functions as `affilog mappings`. */
@Controller('/ops/1.0/mappings')
@Roles(['operator'])
@Produces(['json'])
export class MappingsController {
  constructor(
    private readonly actions: OperatorActions,
    private readonly follower: FollowedDirectory,
    private readonly counted: CountedFeeds,
    private readonly readModels: WaitForReadModels,
    private readonly clock: Clock,
  ) {}

  @Get()
  @ApiOperation(mappingOperations.listMappings)
  list(@MatrixKeys(listKeys) { fid, state }: Keys<typeof listKeys>): ListAnswer {
    return ListAnswer.written(mappingsText, async () => {
      const feeds = await this.counted.of(this.feeds(fid));
      return { items: [listMappings(this.follower.directory, feeds, state)] };
    });
  }

  @Get('suggestions')
  @ApiOperation(mappingOperations.suggestMappings)
  suggest(
    @MatrixKeys(suggestKeys) { fid, name, most = SUGGESTIONS.default }: Keys<typeof suggestKeys>,
  ): QueuedAnswer {
    if (fid.length === 0 && name.length === 0)
      throw fault.unusable(
        'fid and name are missing: expected feeds, whose unmapped names are used, or names',
      );
    return new QueuedAnswer(async () => {
      const { directory } = this.follower;
      const unmapped = listMappings(directory, await this.counted.of(this.feeds(fid)), 'unmapped');
      const names = [...name.map((categoryName) => ({ categoryName })), ...unmapped];
      const number = Math.min(Math.max(most, 1), SUGGESTIONS.max);
      const suggestions = await suggestMappings(directory, names, number);
      return new Answer({ json: () => ({ suggestions }) });
    });
  }

  /** A list in JSON or CSV; each line is applied or refused separately. */
  @Post()
  @ApiOperation(mappingOperations.changeMappings)
  async post(
    @Body() body: PostedBody,
    @MatrixKeys(REASON) { reason }: Keys<typeof REASON>,
    @CurrentCaller() caller: Caller,
  ): Promise<Answer> {
    const format = body.format(['json', 'csv']);
    const lines =
      format === 'json'
        ? await linesOfJson(body.upTo(MAX_BODY))
        : await linesOfCsv(await body.bytes(MAX_BODY));
    return await this.change(lines, caller, 'mappings import', { reason, lines: lines.length });
  }

  @Delete()
  @ApiOperation(mappingOperations.unmapName)
  async unmap(
    @MatrixKeys(unmapKeys) keys: Keys<typeof unmapKeys>,
    @CurrentCaller() caller: Caller,
  ): Promise<Answer> {
    const { fid, name } = keys;
    return await this.change([{ line: 1, change: { feedId: fid, name } }], caller, 'mappings unmap', keys);
  }

  private async change(
    lines: readonly MappingLine[],
    caller: Caller,
    action: ActionName,
    asked: Parameters<OperatorActions['of']>[2],
  ): Promise<Answer> {
    const options = {
      at: this.clock.now().toISOString(),
      count: (feedIds: readonly number[]) => this.counted.of(feedIds),
    };
    const { report, events, position } = await this.actions.of(caller, action, asked, ({ log }) =>
      changeMappings(this.clock, log, this.follower, lines, options),
    );
    if (events > 0) await this.readModels.afterWrite({ position, changes: events }, { readModels: 'loads' });
    const status = report.some(({ outcome }) => outcome === 'refused') ? 400 : 200;
    return new Answer({ json: () => ({ report }) }, { status, ...(events === 0 ? {} : { position }) });
  }

  private feeds(fid: readonly number[]): readonly number[] {
    for (const id of fid)
      if (this.follower.directory.feed(id) === undefined)
        throw fault.unusable(`fid=${id}: expected the id of a feed`);
    return [...new Set(fid)];
  }
}

async function linesOfCsv(bytes: Buffer): Promise<readonly MappingLine[]> {
  return await read(async () => mappingLinesOf(await csvRowsInSlices(utf8Text(bytes), MAX_LINES + 1)));
}

async function linesOfJson(body: PostedBody): Promise<readonly MappingLine[]> {
  const kind = listOf(postedMapping, { each: 'mapping', most: MOST });
  const list = { kind, key: 'mappings', maxItem: MAX_ITEM };
  const { items } = await read(() => postedItems(body.chunks(), 'json', list));
  return await mapInSlices(items.entries(), ([at, item]) => ({ line: at + 1, change: changeIn(item) }));
}

const readMapping = recordReader(postedMapping);

function changeIn(posted: unknown): MappingLine['change'] {
  if (!isPosted(posted)) return { problem: wrong('line', posted, 'an object with feedId and name') };
  // A script whose look-up has failed must not unmap.
  if ('categoryId' in posted && isUnset(posted['categoryId']))
    return {
      problem: wrong(
        'categoryId',
        posted['categoryId'],
        'the id of a platform category; leave it out to unmap',
      ),
    };
  const refusals = new Refusals({ unusable: fault.unusable }, {}, MOST_FAULTS, {
    onUnknown: (path) =>
      refusals.refuse('unusable', `${path.slice(0, 100)}: expected feedId, name or categoryId`),
  });
  try {
    return complete(readMapping(posted, refusals), refusals);
  } catch (error) {
    if (error instanceof Faults) return { problem: error.faults.map(({ message }) => message).join('; ') };
    throw error;
  }
}

/** A body that cannot be parsed is refused as a whole: names with replacement characters would match no category. */
async function read<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw error instanceof UnusableCsv || error instanceof NotParsable
      ? fault.unusable(error.message)
      : error;
  }
}
