import { InvalidArgumentError } from 'commander';

/** Parses the value of an option. */
export function integerFrom(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const expected =
    most === Number.MAX_SAFE_INTEGER
      ? `an integer of at least ${least}`
      : `an integer from ${least} to ${most}`;
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Expected ${expected}.`);
  };
}
