import { textOf } from '../clients';
import { postVoucher, withdrawVoucher } from '../workloads/vouchers';
import { type RecordedEvent } from '../../../src/kernel/event';
import { require } from './broken';
import { type Check, dataOf, streamsOf, timeOf } from './check';

const titleOf = (event: RecordedEvent): string | undefined =>
  (dataOf(event)['voucher'] as { readonly title?: string } | undefined)?.title;

const posted: Check = {
  promise:
    'A voucher that was acknowledged is in the history of its id, and nothing is there that nobody has posted.',
  verify: (world) => {
    const streams = streamsOf(world, 'voucher');
    for (const one of world.clients.done(postVoucher)) {
      const isThere = streams
        .get(String(one.result.id))
        ?.some((event) => titleOf(event) === one.what.title && timeOf(world, event) <= one.answeredAt);
      require(isThere === true, () => `${textOf(one)} was acknowledged, but is not there`);
    }
    const titles = new Set(world.clients.of(postVoucher).map(({ what }) => what.title));
    for (const [id, events] of streams)
      for (const title of events.map(titleOf))
        require(title === undefined || titles.has(title), () =>
          `voucher ${id}: nobody has posted ${title ?? ''}`);
  },
};

const withdrawn: Check = {
  promise: 'A voucher that was withdrawn stays withdrawn.',
  verify: (world) => {
    const streams = streamsOf(world, 'voucher');
    for (const [id, events] of streams)
      require(!events.slice(0, -1).some(({ type }) => type === 'VoucherWithdrawn'), () =>
        `voucher ${id} goes on after it was withdrawn`);
    for (const one of world.clients.done(withdrawVoucher))
      require(streams.get(String(one.what.id))?.at(-1)?.type === 'VoucherWithdrawn', () =>
        `${textOf(one)} was acknowledged, but has not happened`);
  },
};

const keys: Check = {
  promise: 'A `sourceId` of a program has one voucher at a time (V15).',
  verify: (world) => {
    const live = new Map<string, string>();
    const known = new Map<string, string>();
    for (const event of world.disks.log.all) {
      const { stream, type } = event;
      if (!stream.startsWith('voucher-') || world.unusable.has(stream)) continue;
      const { programId, sourceId } = dataOf(event);
      if (sourceId !== undefined) known.set(stream, `${String(programId)} ${JSON.stringify(sourceId)}`);
      const key = known.get(stream);
      if (key === undefined) continue;
      const other = live.get(key) ?? stream;
      require(other === stream, () => `${other} and ${stream} have the sourceId ${key}`);
      if (type === 'VoucherWithdrawn') live.delete(key);
      else live.set(key, stream);
    }
  },
};

export const VOUCHERS = [posted, withdrawn, keys] as const;
