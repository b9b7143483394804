import { type BodyFormat } from '../wire/format';
import { parseJson } from '../wire/json-read';
import { NotParsable } from '../wire/not-parsable';
import { parseXml, type XmlNode } from '../wire/xml-read';
import { voucherFaults as fault } from './faults';
import { POSTED_FIELDS } from './fields';

/** Elements whose white space around is no part of their value: all that are no text (`docs/decisions.md#x3`). */
const TRIMMED: ReadonlySet<string> = new Set([
  'siteId',
  ...Object.entries(POSTED_FIELDS)
    .filter(([, { kind }]) => kind !== 'text' && kind !== 'id')
    .map(([name]) => name),
]);

/** What stands in the place of a text that has elements in it: no text, so that the check refuses it. */
const MIXED = { text: 'with elements in it' };

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
  if (!Array.isArray(vouchers)) throw fault.invalidVoucher('the body must be a list of vouchers');
  if (vouchers.length <= MAX_VOUCHERS) return vouchers;
  throw fault.invalidVoucher(`${vouchers.length} vouchers: expected at most ${MAX_VOUCHERS}`);
}

export const MAX_VOUCHERS = 1000;

function parsed<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof NotParsable ? fault.invalidVoucher(error.message) : error;
  }
}

/** By local names, in any namespace. */
function fromXml(root: XmlNode): object {
  if (root.name !== 'voucher') throw new NotParsable(`the root element must be voucher, not ${root.name}`);
  const siteIds = root.children.filter(({ name }) => name === 'siteId').map(valueOf);
  const fields = root.children.map((child) => [child.name, valueOf(child)] as const);
  return { ...Object.fromEntries(fields), siteIds: siteIds.filter((id) => id !== '') };
}

function valueOf({ name, children, text }: XmlNode): string | typeof MIXED {
  if (children.length > 0) return MIXED;
  return TRIMMED.has(name) ? text.trim() : text;
}
