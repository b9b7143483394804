/** Prints what was tried and its result, beside the output of jest. */
export function report(line: string): void {
  process.stderr.write(`hostile: ${line}\n`);
}
