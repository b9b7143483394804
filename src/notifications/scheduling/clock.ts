/** Epoch ms that never run backwards. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
