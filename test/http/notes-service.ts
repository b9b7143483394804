import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import { Controller, Delete, Get, Module, Param, Post, type Type } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { pino } from 'pino';
import { Answer } from '../../src/http/answer';
import { httpAdapter } from '../../src/http/adapter';
import { Caller, For, Offers, Posted, RequestKeys } from '../../src/http/decorators';
import { installHttp } from '../../src/http/install';
import { type PostedBody } from '../../src/http/posted-body';
import { type HttpOptions, type Service } from '../../src/http/service';
import { type Caller as CallerOfToken } from '../../src/directory/organisations';
import { tokenHash } from '../../src/directory/organisations';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { Fault, faultsOf } from '../../src/kernel/fault';
import { INTEGER, TEXT } from '../../src/wire/key-types';
import { type Keys, type KeyTable } from '../../src/wire/keys';

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

export const notes: Service = {
  system: 'PRODUCTS',
  modules: ['notes', 'noteTrees'],
  namespace: '/1.0/notes',
  byAccept: ['csv'],
  keyFaults: {
    missing: fault.missing,
    notNumeric: fault.numeric,
    notDate: fault.unusable,
    notCommaSeparated: fault.unusable,
    notCurrency: fault.unusable,
    unusable: fault.unusable,
  },
  bodyFaults: { type: fault.type, charset: fault.type, missingCharset: fault.charset },
  faults: fault,
};

const listKeys = {
  id: { type: INTEGER, multiple: true },
  word: { type: TEXT, required: true },
  format: { type: TEXT },
} as const satisfies KeyTable;

/** Tells when a list of all notes is being written. */
export const rendering = new EventEmitter();

@Controller('1.0/notes')
class NotesController {
  @Get()
  @Offers('json', 'xml', 'csv')
  list(
    @Caller() caller: CallerOfToken,
    @RequestKeys(listKeys) { id, word, format }: Keys<typeof listKeys>,
  ): Answer {
    return new Answer(
      {
        json: () => ({ organisation: caller.organisationId, id, word }),
        xml: () => ({ notes: { $: { word }, id } }),
        csv: () => ['word\r\n', `${word}\r\n`],
      },
      format === 'csv' ? { format } : {},
    );
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
  @For('advertiser')
  async post(
    @Posted() body: PostedBody,
    @RequestKeys(listKeys) { word }: Keys<typeof listKeys>,
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
] as const satisfies CallerOfToken[];

/** The application, and what it has logged. */
export async function notesApp(
  options: Partial<HttpOptions> = {},
  controllers: readonly Type[] = [],
): Promise<{ app: NestFastifyApplication; logged: string[] }> {
  const logged: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => logged.push(line) });
  const module = await Test.createTestingModule({
    imports: [NotesModule],
    controllers: [...controllers],
  }).compile();
  const app = module.createNestApplication<NestFastifyApplication>(httpAdapter(log));
  installHttp(app, {
    services: [notes],
    openRoutes: ['/health/live'],
    baseUrl: () => 'https://api.example',
    maxBody: 500,
    rateLimits: {},
    callerOf: (hash) => CALLERS.find((caller) => caller.tokenHash === hash),
    waitFor: async (position) => position <= '0000000000000000012',
    now: () => new Date(90_000),
    searchTime: 5_000,
    downloadRate: 10_000,
    onUnexpected: () => undefined,
    ...options,
  });
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return { app, logged };
}
