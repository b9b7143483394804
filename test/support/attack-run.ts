/** The size of an attack: small in `npm run test:program`, large in `npm run test:hostile`. */
export function attackSize<Size>({ small, large }: { readonly small: Size; readonly large: Size }): Size {
  return process.env.TEST_SIZE === 'hostile' ? large : small;
}

/** Prints what was tried and its result, beside the output of jest. */
export function report(line: string): void {
  process.stderr.write(`hostile: ${line}\n`);
}
