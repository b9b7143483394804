import { Body, Controller, Delete, type DynamicModule, Get, Module, Param, Post } from '@nestjs/common';
import { voucherFaults as fault, voucherFaultTable, VoucherWriter } from '../../domain/vouchers/voucher';
import { Answer, faultsIn, ListAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { defineService } from '../../http/service';
import { VisibleWrites } from '../../http/visible-writes';
import { EventLog } from '../../kernel/event-log';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { errorsAsJson } from '../../wire/api/errors';
import { postedItems } from '../../wire/api/posted-items';
import { NotParsable, parsedOr } from '../../wire/bytes';
import { calendar } from '../../wire/icalendar';
import { postedFromJson } from '../../wire/json/read';
import { type Keys } from '../../wire/keys/keys';
import { ignoredFieldsOf } from '../../wire/keys/name-list';
import { schemaFiles } from '../../wire/record/document';
import { type ListText, listWriter } from '../../wire/record/list';
import { parseXml, postedFromXml } from '../../wire/xml/nodes';
import { VoucherCommands } from './commands';
import {
  type OutputVoucher,
  postedVoucher,
  postedVouchers,
  versionsText,
  voucherApi as api,
  VOUCHERS,
} from './api';
import {
  dateKeys,
  listKeys,
  postKeys,
  type VoucherListKeys,
  VoucherQueries,
  VoucherSettings,
} from './voucher.queries';

/** Most bytes of a posted voucher, and of a list of them (`docs/decisions.md#x40`). */
const MAX_BODY = { one: 1024 * 1024, several: 8 * 1024 * 1024 } as const;

/** Document 2, Endpoints, Vouchers; beyond it `docs/decisions.md#v17`. */
@Controller('/1.0/vouchers')
class VouchersController {
  constructor(
    private readonly commands: VoucherCommands,
    private readonly queries: VoucherQueries,
    private readonly settings: VoucherSettings,
    private readonly clock: Clock,
  ) {}

  @Get()
  @ApiOperation(api.listVouchers)
  @Roles(['advertiser', 'publisher'])
  @Produces(['json', 'xml', 'csv', 'ics'])
  list(@CurrentCaller() caller: Caller, @MatrixKeys(listKeys) keys: VoucherListKeys): ListAnswer {
    return ListAnswer.written(
      (view) => (view.format === 'ics' ? calendarText(this.settings.vendor) : vouchersText(view)),
      (query) => this.queries.list(keys, caller, this.clock.now(), query),
      keys,
    );
  }

  @Post()
  @ApiOperation(api.postVoucher)
  @Roles(['advertiser'])
  async post(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(postKeys) { dryRun }: Keys<typeof postKeys>,
    @Body() body: PostedBody,
  ): Promise<Answer> {
    const format = body.format();
    const bytes = await body.bytes(MAX_BODY.one);
    const posted = await parsedOr(fault.invalidVoucher, () =>
      format === 'json' ? postedFromJson(bytes) : fromXml(bytes),
    );
    const text = format === 'json' ? bytes.toString() : undefined;
    body.report(await ignoredFieldsOf(postedVoucher, [posted]));
    const options = { dryRun, text, requestId: body.repeatable?.id };
    const { id, position } = await this.commands.post(posted, caller.organisationId, options);
    return new Answer({ json: () => [id], xml: () => ({ long: id }) }, { position });
  }

  @Post('bulk')
  @ApiOperation(api.postVouchers)
  @Roles(['advertiser'])
  @Produces(['json'])
  async postAll(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(postKeys) { dryRun }: Keys<typeof postKeys>,
    @Body() body: PostedBody,
  ): Promise<Answer> {
    body.format(['json']);
    const chunks = body.upTo(MAX_BODY.several).chunks();
    const list = { kind: postedVouchers, maxItem: MAX_BODY.one };
    const { items, texts } = await parsedOr(fault.invalidVoucher, () => postedItems(chunks, 'json', list));
    body.report(await ignoredFieldsOf(postedVoucher, items));
    const options = { dryRun, texts, requestId: body.repeatable?.id };
    const { results, position } = await this.commands.postAll(items, caller.organisationId, options);
    const listed = results.map((result) => ('faults' in result ? errorsAsJson(result.faults) : result));
    return new Answer({ json: () => listed }, { position, itemFaults: faultsIn(results) });
  }

  @Delete(':id')
  @ApiOperation(api.deleteVoucher)
  @Roles(['advertiser'])
  async delete(@CurrentCaller() caller: Caller, @Param('id') sent: string): Promise<Answer> {
    const id = voucherIdIn(sent);
    if (id === undefined) throw fault.invalidVoucher(`${sent}: expected the id of a voucher`);
    return Answer.none(await this.commands.withdraw(id, caller.organisationId));
  }

  @Get(':id/versions')
  @ApiOperation(api.listVersions)
  versions(
    @CurrentCaller() caller: Caller,
    @Param('id') sent: string,
    @MatrixKeys(dateKeys) { dateOutputFormat = 'epoch' }: Keys<typeof dateKeys>,
  ): ListAnswer {
    return ListAnswer.written(versionsText, async (query) => ({
      items: await this.queries.versions(voucherIdIn(sent), caller, dateOutputFormat, query),
    }));
  }
}

function voucherIdIn(sent: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(sent) ? Number(sent) : undefined;
}

/** In the shape of the JSON one (Document 2, Voucher posted by an advertiser). */
function fromXml(bytes: Buffer): object {
  const root = parseXml(bytes);
  if (root.name !== 'voucher') throw new NotParsable(`expected the root element voucher, found ${root.name}`);
  return postedFromXml(postedVoucher, root);
}

const vouchersText = listWriter(VOUCHERS);

/** One event for each voucher, from its start to its end. */
function calendarText(vendor: string): ListText<OutputVoucher> {
  const { item, ...text } = calendar(`-//${vendor}//vouchers//EN`);
  return {
    ...text,
    item: (voucher, isFirst) =>
      item(
        {
          uid: `voucher-${voucher.id}@${vendor}`,
          changed: instantOf(voucher.updateDate),
          start: instantOf(voucher.startDate),
          end: instantOf(voucher.endDate),
          summary: voucher.title,
          description: voucher.shortDescription,
          url: voucher.defaultTrackUri,
        },
        isFirst,
      ),
  };
}

function instantOf(date: number | string): number {
  return new Date(date).getTime();
}

/** The voucher service (Document 2; in XML `docs/decisions.md#x61`). A problem with a key is 101 (`#v14`). */
export const voucherService = defineService({
  system: 'VOUCHERS',
  modules: ['vouchers'],
  description: {
    title: 'Vouchers',
    description: 'Voucher offers of programs: posting, editing, listing, deleting; what each edit changed.',
    faults: voucherFaultTable,
    schemas: () => schemaFiles(api),
    errorSchema: 'VoucherErrors_v1_0.xsd',
  },
  faults: { unusable: fault.invalidVoucher, notAdmitted: fault.noAccess },
});

@Module({})
export class VouchersModule {
  static with(settings: VoucherSettings): DynamicModule {
    return {
      module: VouchersModule,
      controllers: [VouchersController],
      providers: [
        VoucherCommands,
        VisibleWrites,
        VoucherQueries,
        {
          provide: VoucherWriter,
          useFactory: (clock: Clock, log: EventLog) => new VoucherWriter(clock, log),
          inject: [Clock, EventLog],
        },
        { provide: VoucherSettings, useValue: settings },
      ],
    };
  }
}
