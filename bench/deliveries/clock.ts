/** Milliseconds of a clock that all processes of a machine share, and nobody can set. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
