import { Controller, Get } from '@nestjs/common';
import { ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { ReadStore } from '../../kernel/read-store';
import { FollowedDirectory } from '../../network/follower';
import { Clock } from '../../runtime/clock';
import { CountedFeeds, FEED_LIST, listedFeeds } from '../../services/products/feed.queries';
import { operationsById } from '../../wire/api/description';
import { INTEGER, type Keys, type KeyTable } from '../../wire/keys/keys';
import { boolean, integer, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { listTokens } from '../tokens';
import { operatorFaults as fault } from './operator-service';

const tokenKeys = {
  organisationId: { type: INTEGER, description: 'Only tokens of this organisation' },
} as const satisfies KeyTable;

const optional = { optional: true } as const;

const token = record(
  {
    organisationId: { kind: integer(), description: 'Its organisation' },
    organisation: { kind: text(), description: 'Name of the organisation' },
    system: { kind: text(), description: 'The system that it is for' },
    siteId: { kind: integer(), ...optional, description: 'Its site, if it is limited to one' },
    fingerprint: { kind: text(), description: 'The first digits of its hash' },
    expires: { kind: text(), ...optional, description: 'When it expires, ISO 8601' },
    isExpired: { kind: boolean(), description: 'Whether it has expired' },
    lastUsed: { kind: text(), ...optional, description: 'The last day it was used on, UTC' },
  },
  { name: 'ListedToken' },
);

/** Reference data of the network, for operators (`docs/decisions.md#x125`). */
export const directoryOperations = operationsById({
  listAllFeeds: {
    summary: 'List all feeds',
    description: 'By their ids, with the numbers of their products and unmapped categories.',
    answer: { name: FEED_LIST.name, kind: FEED_LIST.kind },
  },
  listTokens: {
    summary: 'List tokens',
    description: 'Never the tokens themselves: nobody has them but their holders.',
    example: { organisationId: 1 },
    answer: { name: 'ListedTokens', kind: listOf(token, { each: 'token' }) },
  },
});

/** The same as `affilog feeds list` and `affilog tokens list`. */
@Controller('/ops/1.0')
@Roles(['operator'])
@Produces(['json'])
export class DirectoryController {
  constructor(
    private readonly store: ReadStore,
    private readonly follower: FollowedDirectory,
    private readonly counted: CountedFeeds,
    private readonly clock: Clock,
  ) {}

  @Get('feeds')
  @ApiOperation(directoryOperations.listAllFeeds)
  feeds(): QueuedAnswer {
    return QueuedAnswer.of(directoryOperations.listAllFeeds, async () => {
      const { directory } = this.follower;
      const feeds = [...directory.programs.allFeeds()].sort((one, other) => one.id - other.id);
      return await listedFeeds(feeds, this.counted, directory);
    });
  }

  @Get('tokens')
  @ApiOperation(directoryOperations.listTokens)
  tokens(@MatrixKeys(tokenKeys) { organisationId }: Keys<typeof tokenKeys>): ListAnswer {
    return ListAnswer.of(directoryOperations.listTokens, async () => {
      const { directory } = this.follower;
      if (organisationId !== undefined && directory.organisations.get(organisationId) === undefined)
        throw fault.unusable(`organisationId=${organisationId}: expected the id of an organisation`);
      const all = await listTokens(directory, this.store, this.clock.now(), organisationId);
      return { items: [all], total: all.length };
    });
  }
}
