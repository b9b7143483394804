import { Body, Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type FastifyReply } from 'fastify';
import { type Caller } from '../../network/organisations';
import { Answer } from '../../http/answer';
import { Clock } from '../../http/clock';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { markDryRun } from '../../http/dry-run';
import { ListAnswer } from '../../http/list-answer';
import { QueuedAnswer } from '../../http/queued-answer';
import { PostedBody } from '../../http/posted-body';
import { writeDate } from '../../wire/date';
import { errorsAsJson } from '../../wire/api/errors';
import { type Keys } from '../../wire/keys/keys';
import { pageHeaders } from '../../wire/keys/pages';
import { listPieces } from '../../wire/record/list-text';
import { ignoredFieldsOf } from '../../wire/keys/name-list';
import { PostVoucher, PostVouchers, WithdrawVoucher } from './commands';
import { voucherFaults as fault } from '../../domain/vouchers/faults';
import { postedVoucher } from './fields';
import { dateKeys, type VoucherListKeys, listKeys, postKeys } from './list-keys';
import { listText, toXmlVersions } from './formats';
import { voucherOperations as operations } from './operations';
import { VoucherQueries, VoucherSettings } from './voucher.queries';
import { readVoucher, readVouchers } from './voucher-body';

/** Most bytes of a posted voucher, and of a list of them (`docs/decisions.md#x40`). */
const MAX_BODY = { one: 1024 * 1024, several: 8 * 1024 * 1024 } as const;

/** Document 2, Endpoints, Vouchers; beyond it `docs/decisions.md#v17`. */
@Controller('/1.0/vouchers')
export class VouchersController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: VoucherQueries,
    private readonly settings: VoucherSettings,
    private readonly clock: Clock,
  ) {}

  @Get()
  @ApiOperation(operations.listVouchers)
  @Roles(['advertiser', 'publisher'])
  @Produces(['json', 'xml', 'csv', 'ics'])
  list(@CurrentCaller() caller: Caller, @MatrixKeys(listKeys) keys: VoucherListKeys): ListAnswer {
    return new ListAnswer(
      async ({ view, query }) => ({
        pieces: listPieces(
          listText(view, this.settings.vendor),
          await this.queries.list(keys, caller, this.clock.now(), query),
        ),
        headers: pageHeaders({ requested: keys.pageSize }),
      }),
      { format: keys.format },
    );
  }

  @Post()
  @ApiOperation(operations.postVoucher)
  @Roles(['advertiser'])
  async post(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(postKeys) keys: Keys<typeof postKeys>,
    @Body() body: PostedBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const dryRun = markDryRun(reply, keys.dryRun);
    const format = body.format();
    const bytes = await body.bytes(MAX_BODY.one);
    const posted = readVoucher(bytes, format);
    const text = format === 'json' ? bytes.toString() : undefined;
    reply.headers(await ignoredFieldsOf(postedVoucher, [posted]));
    const command = new PostVoucher(posted, caller.organisationId, dryRun, text);
    const { id, position } = await this.commands.execute(command);
    return new Answer({ json: () => [id], xml: () => ({ long: id }) }, { position });
  }

  @Post('bulk')
  @ApiOperation(operations.postVouchers)
  @Roles(['advertiser'])
  @Produces(['json'])
  async postAll(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(postKeys) keys: Keys<typeof postKeys>,
    @Body() body: PostedBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const dryRun = markDryRun(reply, keys.dryRun);
    body.format(['json']);
    const { items, texts } = await readVouchers(body.upTo(MAX_BODY.several).chunks(), MAX_BODY.one);
    reply.headers(await ignoredFieldsOf(postedVoucher, items));
    const command = new PostVouchers(items, caller.organisationId, dryRun, texts);
    const { results, position } = await this.commands.execute(command);
    const listed = results.map((result) => ('faults' in result ? errorsAsJson(result.faults) : result));
    return new Answer({ json: () => listed }, { position });
  }

  @Delete(':id')
  @ApiOperation(operations.deleteVoucher)
  @Roles(['advertiser'])
  async delete(@CurrentCaller() caller: Caller, @Param('id') sent: string): Promise<Answer> {
    const id = voucherIdIn(sent);
    if (id === undefined) throw fault.invalidVoucher(`${sent}: expected the id of a voucher`);
    return Answer.none(await this.commands.execute(new WithdrawVoucher(id, caller.organisationId)));
  }

  @Get(':id/versions')
  @ApiOperation(operations.listVersions)
  versions(
    @CurrentCaller() caller: Caller,
    @Param('id') sent: string,
    @MatrixKeys(dateKeys) { dateOutputFormat = 'epoch' }: Keys<typeof dateKeys>,
  ): QueuedAnswer {
    return new QueuedAnswer(async (query) => {
      const found = await this.queries.versions(voucherIdIn(sent), caller, query);
      const versions = found.map((one) => ({
        ...one,
        time: writeDate(Date.parse(one.time), dateOutputFormat),
      }));
      return Answer.of({ versions }, toXmlVersions);
    });
  }
}

/** Undefined if it is not an id. */
function voucherIdIn(sent: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(sent) ? Number(sent) : undefined;
}
