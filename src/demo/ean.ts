/** An EAN-13: twelve digits and their check digit. */
export function ean13(twelveDigits: string): string {
  let sum = 0;
  for (let at = 0; at < 12; at += 1) sum += Number(twelveDigits.charAt(at)) * (at % 2 === 0 ? 1 : 3);
  return `${twelveDigits}${(10 - (sum % 10)) % 10}`;
}
