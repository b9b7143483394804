import { UUID } from '@eventstore/db-client/generated/shared_pb';

/** How a client wants ids: as text, or as two numbers of 64 bits. */
export type IdEncoding = 'text' | 'numbers';

/** An id as the client wants it. */
export function toUuid(id: string, encoding: IdEncoding): UUID {
  const uuid = new UUID();
  if (encoding === 'text') return uuid.setString(id);
  const digits = id.replaceAll('-', '');
  const structured = new UUID.Structured();
  structured.setMostSignificantBits(toInt64(digits.slice(0, 16)));
  structured.setLeastSignificantBits(toInt64(digits.slice(16)));
  return uuid.setStructured(structured);
}

/** The id in lower case, from either encoding; the empty text where there is none. */
export function readUuid(uuid: UUID | undefined): string {
  const structured = uuid?.getStructured();
  if (structured === undefined) return uuid?.getString().toLowerCase() ?? '';
  const digits =
    fromInt64(structured.getMostSignificantBits()) + fromInt64(structured.getLeastSignificantBits());
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function toInt64(digits: string): string {
  return BigInt.asIntN(64, BigInt(`0x${digits}`)).toString();
}

function fromInt64(number: string): string {
  return BigInt.asUintN(64, BigInt(number)).toString(16).padStart(16, '0');
}
