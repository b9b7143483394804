/** Says what was tried and what came of it, beside what jest prints. */
export function report(line: string): void {
  process.stderr.write(`hostile: ${line}\n`);
}
