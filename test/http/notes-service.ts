import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import { Body, Controller, Delete, Get, Module, Param, Post, type Type } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { pino } from 'pino';
import { Answer, ListAnswer } from '../../src/http/answer';
import { httpAdapter } from '../../src/http/adapter';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../src/http/decorators';
import { RequestJournal } from '../../src/http/idempotency';
import { installHttp, HttpModule } from '../../src/http/install';
import { BodyBudgets, PostedBody } from '../../src/http/posted-body';
import { type Representation } from '../../src/http/representation';
import { defineService, type HttpParts } from '../../src/http/service';
import { WaitForReadModels } from '../../src/http/visible-writes';
import { type Caller, tokenHash } from '../../src/network/organisations';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { Fault, faultsOf } from '../../src/kernel/fault';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { jsonPieces } from '../../src/wire/json/write';
import { INTEGER, type Keys, type KeyTable, TEXT } from '../../src/wire/keys/keys';
import { xmlPieces } from '../../src/wire/xml/write';
import { TestClock } from '../support/clock';

/** A service made for these tests: notes, with codes of its own. */
const fault = faultsOf({
  missing: ['N_1', 400, 'Missing'],
  unusable: ['N_2', 400, 'Unusable'],
  numeric: ['N_3', 400, 'Not numeric'],
  type: ['N_415', 415, 'Type'],
  charset: ['N_410', 400, 'Charset'],
  notAdmitted: ['N_300', 400, 'Not admitted'],
  tokenTwice: ['N_301', 400, 'Token twice'],
  unexpected: ['N_230', 400, 'Unexpected'],
});

export const notes = defineService({
  system: 'PRODUCTS',
  modules: ['notes', 'noteTrees'],
  legacyPrefixes: ['old'],

  faults: {
    ...fault,
    keys: { missing: fault.missing, notNumeric: fault.numeric },
    body: { type: fault.type, charset: fault.type },
  },
});

const listKeys = {
  id: { type: INTEGER, multiple: true },
  word: { type: TEXT, required: true },
  format: { type: TEXT },
} as const satisfies KeyTable;

/** Emits `begun` when a list of all notes is being written. */
export const rendering = new EventEmitter();

@Controller(['/1.0/notes', '/1.0/old/notes'])
class NotesController {
  @Get()
  @ApiOperation({ id: 'listNotes', summary: 'Lists notes', example: { word: 'a' } })
  @Produces(['json', 'xml', 'csv'])
  list(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(listKeys) { id, word, format }: Keys<typeof listKeys>,
  ): ListAnswer {
    async function* pieces(view: Representation): AsyncGenerator<Iterable<string>> {
      if (view.format === 'csv') yield ['word\r\n', `${word}\r\n`];
      else if (view.format === 'xml') yield xmlPieces({ notes: { $: { word }, id } }, view);
      else yield jsonPieces({ organisation: caller.organisationId, id, word }, view);
    }
    return new ListAnswer(async ({ view }) => ({ pieces: pieces(view) }), format === 'csv' ? { format } : {});
  }

  @Get('all')
  all(): Answer {
    const items = Array.from({ length: 20_000 }, (_, id) => ({ id, text: 'A note & another. '.repeat(20) }));
    const begun = <T>(document: T): T => {
      rendering.emit('begun');
      return document;
    };
    return new Answer({
      json: () => begun({ items }),
      xml: () => begun({ notes: { items: { item: items } } }),
    });
  }

  @Post()
  @Roles(['advertiser'])
  async post(
    @Body() body: PostedBody,
    @MatrixKeys(listKeys) { word }: Keys<typeof listKeys>,
  ): Promise<Answer> {
    const format = body.format();
    const bytes = await body.bytes(1000);
    const { length } = bytes;
    if (word === 'engine') throw new EngineUnavailable('the disk is full of secrets');
    if (word === 'bug') throw new TypeError('a secret is undefined');
    const faults =
      word === 'bad' ? [new Fault('N_2', 400, `${format} of ${length}`, { sourceProductId: '7' })] : [];
    return Answer.errors(faults, { position: '0000000000000000012' });
  }

  @Delete(':id')
  remove(@Param('id') id: string): Answer {
    return new Answer({ json: () => ({ removed: id }) });
  }
}

@Controller('health')
class HealthController {
  @Get('live')
  live(): object {
    return { live: true };
  }
}

@Module({ controllers: [NotesController, HealthController] })
class NotesModule {}

export const TOKENS = {
  advertiser: 'a'.repeat(40),
  publisher: 'b'.repeat(40),
  vouchers: 'c'.repeat(40),
} as const;

const CALLERS = [
  { tokenHash: tokenHash(TOKENS.advertiser), organisationId: 1, kind: 'advertiser', system: 'PRODUCTS' },
  { tokenHash: tokenHash(TOKENS.publisher), organisationId: 2, kind: 'publisher', system: 'PRODUCTS' },
  { tokenHash: tokenHash(TOKENS.vouchers), organisationId: 1, kind: 'advertiser', system: 'VOUCHERS' },
] as const satisfies Caller[];

export interface NotesOptions extends Partial<HttpParts> {
  readonly now?: () => Date;
  /** What `X-Min-Position` waits for. */
  readonly waitFor?: (position: string) => Promise<boolean>;
}

/** The application, and what it has logged. */
export async function notesApp(
  {
    now = () => new Date(90_000),
    waitFor = async (position) => position <= '0000000000000000012',
    ...options
  }: NotesOptions = {},
  controllers: readonly Type[] = [],
): Promise<{ app: NestFastifyApplication; logged: string[] }> {
  const logged: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => logged.push(line) });
  const http: HttpParts = {
    services: [notes],
    openRoutes: ['/health/live'],
    vendor: 'affilog',
    baseUrl: () => 'https://api.example',
    journal: new RequestJournal(
      SYSTEM_CLOCK,
      () => Promise.reject(new Error('the notes service has no log')),
      Buffer.alloc(32),
    ),
    maxBody: 500,
    bodyBudgets: new BodyBudgets({ memory: 1024 ** 2, space: 1024 ** 2 }),
    maxConnections: 10_000,
    rateLimits: {},
    callerOf: (hash) => CALLERS.find((caller) => caller.tokenHash === hash),
    tokenUsed: () => undefined,
    searchTime: 5_000,
    downloadRate: 10_000,
    ...options,
  };
  const module = await Test.createTestingModule({
    imports: [
      NotesModule,
      HttpModule.with(http, new WaitForReadModels(SYSTEM_CLOCK, waitFor), new TestClock(now)),
    ],
    controllers: [...controllers],
  }).compile();
  const app = module.createNestApplication<NestFastifyApplication>(httpAdapter(log));
  installHttp(app);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return { app, logged };
}
