import { type BodyFormat } from '../wire/format';
import { parseJson } from '../wire/json-read';
import { NotParsable } from '../wire/not-parsable';
import { postedFromXml } from '../wire/posted-xml';
import { parseXml, type XmlNode } from '../wire/xml-read';
import { voucherFaults as fault } from './faults';
import { postedVoucher, postedVouchers } from './fields';

/**
 * A posted voucher in the shape of the JSON one (Document 2, Voucher posted by an advertiser); raises 101 for what cannot
 * be read.
 */
export function readVoucher(bytes: Buffer, format: BodyFormat): unknown {
  return parsed(() => (format === 'json' ? parseJson(bytes) : fromXml(parseXml(bytes))));
}

/** A posted list of vouchers, each still to be checked (`docs/decisions.md#v17`); raises 101. */
export function readVouchers(bytes: Buffer): readonly unknown[] {
  const vouchers = parsed(() => parseJson(bytes));
  const { most = Infinity } = postedVouchers;
  if (!Array.isArray(vouchers)) throw fault.invalidVoucher('expected a list of vouchers');
  if (vouchers.length <= most) return vouchers;
  throw fault.invalidVoucher(`${vouchers.length} vouchers: expected at most ${most}`);
}

function parsed<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof NotParsable ? fault.invalidVoucher(error.message) : error;
  }
}

function fromXml(root: XmlNode): object {
  if (root.name !== 'voucher') throw new NotParsable(`expected the root element voucher, found ${root.name}`);
  return postedFromXml(postedVoucher, root);
}
