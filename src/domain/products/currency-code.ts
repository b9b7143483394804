/** A currency in 16 bits: three letters in base 26, from 1. Any other text, such as an empty one, is 0. */
export function currencyCode(currency: string): number {
  if (currency.length !== 3) return 0;
  let code = 0;
  for (let at = 0; at < 3; at += 1) {
    const letter = currency.charCodeAt(at) - A;
    if (letter < 0 || letter >= LETTERS) return 0;
    code = code * LETTERS + letter;
  }
  return code + 1;
}

/** The inverse of `currencyCode`; empty for 0. */
export function currencyOfCode(code: number): string {
  if (code === 0) return '';
  const letters = [(code - 1) / LETTERS ** 2, (code - 1) / LETTERS, code - 1];
  return String.fromCharCode(...letters.map((letter) => (Math.floor(letter) % LETTERS) + A));
}

const LETTERS = 26;
const A = 'A'.charCodeAt(0);
