import { type Figure } from './harness';

const COLUMNS = ['figure', 'measured', 'bare', 'ratio', 'goal', ''] as const;
const WIDTHS = [52, 20, 20, 7, 6, 5] as const;

export const HEADING = row(COLUMNS);

/** A figure as a line of a table; `bare` is the bound if there is no bare engine. */
export function lineOf({ figure, measured, limit, ratio, goal, unit }: Figure): string {
  const verdict = goal === null ? '' : ratio >= goal ? 'ok' : 'short';
  return row([
    figure,
    `${rounded(measured)} ${unit}`,
    `${rounded(limit)} ${unit}`,
    ratio.toFixed(2),
    goal === null ? '-' : goal.toFixed(1),
    verdict,
  ]);
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, at) => (at === 0 ? cell.padEnd(WIDTHS[at]) : cell.padStart(WIDTHS[at] ?? 0)))
    .join(' ')
    .trimEnd();
}

function rounded(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}
