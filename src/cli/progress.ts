import { type SingleBar } from 'cli-progress';
import { type RebuildProgress } from '../projector/rebuild';
import { type CopyProgress } from '../operations/copy-log';
import { type ExportProgress } from '../operations/export-log';
import { type ImportProgress } from '../operations/import-transactions';
import { type SendProgress } from '../operations/send-feed';
import { type SnapshotProgress } from '../operations/sql/snapshot';

export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean };

type ShownProgress =
  RebuildProgress | CopyProgress | ExportProgress | ImportProgress | SendProgress | SnapshotProgress;

/** Shows the progress of a rebuild, a copy or an import: a bar in a terminal, otherwise a line every few seconds. */
export interface ProgressDisplay {
  readonly show: (progress: ShownProgress) => void;
  readonly end: () => void;
}

const PHASES: Readonly<Record<ShownProgress['phase'], string>> = {
  copy: 'copying the log',
  verify: 'comparing the copy',
  export: 'exporting the log',
  project: 'projecting the log',
  index: 'building indexes',
  compare: 'comparing with the live generation',
  swap: 'completing the new generation',
  import: 'importing transactions',
  send: 'sending the products',
  store: 'waiting for the server',
  snapshot: 'reading the log for SQL',
};

const UNITS: Readonly<Partial<Record<ShownProgress['phase'], string>>> = {
  ...{ import: 'lines', send: 'KB', store: 'KB' },
};

function unitOf(phase: ShownProgress['phase']): string {
  return UNITS[phase] ?? 'events';
}

export async function progressOn(output: Output, now: () => number = Date.now): Promise<ProgressDisplay> {
  return output.isTTY === true ? await barOn(output) : linesOn(output, now);
}

async function barOn(output: Output): Promise<ProgressDisplay> {
  const { SingleBar: Bar, Presets } = await import('cli-progress');
  const format = '{phase} [{bar}] {percentage}% | {done} {unit} | {rate}/s | {left} s left';
  const bar: SingleBar = new Bar({ format, stream: output, hideCursor: true }, Presets.legacy);
  bar.start(1, 0, { phase: PHASES.project, done: '0', unit: unitOf('project'), rate: 0, left: '?' });
  return {
    show({ phase, events, total, share, rate, secondsLeft }) {
      const pace = { rate: Math.round(rate), left: Math.ceil(secondsLeft) };
      const done = total === 0 ? 'no' : `${events}/${total}`;
      bar.update(share, { phase: PHASES[phase], done, unit: unitOf(phase), ...pace });
    },
    end: () => bar.stop(),
  };
}

/** A line is printed when the phase changes, and at this interval. */
const LINE_MS = 5_000;

function linesOn(output: Output, now: () => number): ProgressDisplay {
  let last: { readonly phase: string; readonly at: number } | undefined;
  return {
    show({ phase, events, total, share, rate, secondsLeft }) {
      if (last?.phase === phase && now() - last.at < LINE_MS) return;
      last = { phase, at: now() };
      const pace = `${Math.round(rate)}/s, ${Math.ceil(secondsLeft)} s left`;
      const done =
        total === 0
          ? `${Math.round(share * 100)} %, no ${unitOf(phase)} yet`
          : `${events} of ${total} ${unitOf(phase)}`;
      output.write(`${PHASES[phase]}: ${done}, ${pace}\n`);
    },
    end: () => undefined,
  };
}
