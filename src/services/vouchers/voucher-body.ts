import { type BodyFormat } from '../../wire/api/format';
import { postedFromJson } from '../../wire/json/read';
import { NotParsable } from '../../wire/not-parsable';
import { type PostedItems, postedItems } from '../../wire/api/posted-list';
import { postedFromXml } from '../../wire/xml/posted';
import { parseXml, type XmlNode } from '../../wire/xml/read';
import { voucherFaults as fault } from '../../domain/vouchers/faults';
import { postedVoucher, postedVouchers } from './fields';

/**
 * A posted voucher in the shape of the JSON one (Document 2, Voucher posted by an advertiser); raises 101 for what cannot
 * be read.
 */
export function readVoucher(bytes: Buffer, format: BodyFormat): unknown {
  return parsed(() => (format === 'json' ? postedFromJson(bytes) : fromXml(parseXml(bytes))));
}

/** A posted list of vouchers, each still to be checked (`docs/decisions.md#v17`); raises 101. */
export async function readVouchers(chunks: AsyncIterable<Buffer>, maxItem: number): Promise<PostedItems> {
  try {
    return await postedItems(chunks, 'json', { kind: postedVouchers, maxItem });
  } catch (error) {
    throw unreadable(error);
  }
}

function parsed<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(error: unknown): unknown {
  return error instanceof NotParsable ? fault.invalidVoucher(error.message) : error;
}

function fromXml(root: XmlNode): object {
  if (root.name !== 'voucher') throw new NotParsable(`expected the root element voucher, found ${root.name}`);
  return postedFromXml(postedVoucher, root);
}
