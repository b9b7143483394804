/** Encodes integers of at least 0, below 2^53, in base64: small ones in one byte. */
export function encodeIntegers(integers: Iterable<number>): string {
  const bytes: number[] = [];
  for (const integer of integers) {
    let left = integer;
    while (left >= 0x80) {
      bytes.push((left % 0x80) + 0x80);
      left = Math.floor(left / 0x80);
    }
    bytes.push(left);
  }
  return Buffer.from(bytes).toString('base64');
}

export function decodeIntegers(text: string): readonly number[] {
  const integers: number[] = [];
  let integer = 0;
  let factor = 1;
  for (const byte of Buffer.from(text, 'base64')) {
    integer += (byte % 0x80) * factor;
    factor *= 0x80;
    if (byte >= 0x80) continue;
    integers.push(integer);
    integer = 0;
    factor = 1;
  }
  return integers;
}

/** Ascending integers as their differences, and back. */
export function differences(ascending: Iterable<number>): readonly number[] {
  let before = 0;
  return Array.from(ascending, (integer) => {
    const difference = integer - before;
    before = integer;
    return difference;
  });
}

export function sums(differences: readonly number[]): readonly number[] {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}
