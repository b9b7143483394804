import { Controller, Get } from '@nestjs/common';
import { ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { Clock } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { integer, object, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { UsageError } from '../command-error';
import { type Measured, measured, serverState, type ServerParts } from '../server-state';
import { SharedResults } from '../../runtime/concurrency';
import { documentNamed, documentsOfEvent } from '../inspect-log';

/** The container's token for what the state of a server depends on. */
export abstract class ServerPlace {
  abstract readonly leases: ServerParts['leases'];
  abstract readonly config: ServerParts['config'];
}

const documentKeys = {
  position: { type: TEXT, description: 'Those of the event at this log position' },
  readModel: { type: TEXT, description: 'Read model, such as vouchers; together with `id`' },
  id: { type: TEXT, description: 'Id of one document; of a product also `<feedId>-<sourceProductId>`' },
} as const satisfies KeyTable;

const optional = { optional: true } as const;
const bytes = (description: string) => ({ kind: integer(), description: `Bytes: ${description}` });

const STATE = {
  name: 'ServerState',
  kind: record({
    version: { kind: text(), description: 'Version of the program' },
    node: { kind: text(), description: 'Version of Node.js' },
    startedAt: { kind: text(), description: 'When the process started, ISO 8601' },
    memory: bytes('memory of the process'),
    eventLog: { kind: text(), description: 'Engine of the event log' },
    readStore: { kind: text(), description: 'Engine of the read models' },
    position: { kind: text(), description: 'Position of the last event' },
    lastMinute: { kind: integer(), description: 'Events of the last minute, counted up to 10,000' },
    disk: {
      kind: record({
        free: bytes('free space where the data folder is'),
        total: bytes('all space there'),
        used: bytes('files of the data folder'),
        files: {
          kind: listOf(
            record({
              name: { kind: text(), description: 'Path in the data folder' },
              bytes: bytes('its size'),
            }),
            { each: 'file' },
          ),
          description: 'The 30 largest',
        },
      }),
      description: 'The data folder of the process that answers',
    },
    leases: {
      kind: listOf(
        record({
          work: { kind: text(), description: 'What one process at a time does, or several share' },
          owner: { kind: text(), ...optional, description: 'Who does it; absent: nobody' },
          until: {
            kind: text(),
            ...optional,
            description: 'When the lease ends at the latest unless it is renewed, ISO 8601',
          },
        }),
        { each: 'lease' },
      ),
      description: 'Who leads what',
    },
  }),
} as const satisfies Shape;

const shownDocument = record(
  {
    readModel: { kind: text(), description: 'Read model' },
    id: { kind: text(), description: 'Id of the document' },
    document: { kind: object(), ...optional, description: 'The document; absent: it does not exist' },
  },
  { name: 'ShownDocument' },
);

/** `docs/decisions.md#x131`, `#x132`. */
export const serverOperations = operationsById({
  getServerState: {
    summary: 'Get what this server runs on',
    description: 'Version, engines, disk space, the rate of events, and which processes lead what.',
    answer: STATE,
  },
  listDocuments: {
    summary: 'List the documents that an event is folded into, or get one',
    description:
      'As the live read models have them now: those of the event at a position, or one by its id. Without addresses and ' +
      'bodies of receivers.',
    example: { position: '1' },
    answer: { name: 'ShownDocuments', kind: listOf(shownDocument, { each: 'document' }) },
  },
});

/** For so long (ms) all who ask share what is measured. */
const MEASURED_MS = 2_000;

/** What a server runs on, and what its read models have. */
@Controller('/ops/1.0')
@Roles(['operator'])
@Produces(['json'])
export class ServerController {
  private readonly measured: SharedResults<Measured>;

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly clock: Clock,
    private readonly place: ServerPlace,
  ) {
    this.measured = new SharedResults(clock, MEASURED_MS);
  }

  @Get('server')
  @ApiOperation(serverOperations.getServerState)
  state(): QueuedAnswer {
    const { log, store, clock, place } = this;
    const { leases, config } = place;
    const parts = { log, store, clock, leases, config };
    return QueuedAnswer.of(serverOperations.getServerState, () =>
      serverState(parts, () => this.measured.get('', () => measured(parts))),
    );
  }

  @Get('documents')
  @ApiOperation(serverOperations.listDocuments)
  documents(@MatrixKeys(documentKeys) { position, readModel, id }: Keys<typeof documentKeys>): ListAnswer {
    return ListAnswer.of(serverOperations.listDocuments, async () => {
      const found = await this.found(position, readModel, id);
      return { items: [found], total: found.length };
    });
  }

  private async found(position?: string, readModel?: string, id?: string) {
    if (position !== undefined) return await documentsOfEvent(this.log, this.store, position);
    if (readModel === undefined || id === undefined)
      throw new UsageError('expected position, or readModel and id');
    return [await documentNamed(this.store, readModel, id)];
  }
}
