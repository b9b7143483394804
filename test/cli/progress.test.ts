import { PassThrough } from 'node:stream';
import { progressOn } from '../../src/cli/settings';
import { ProgressMeter } from '../../src/projector/progress-meter';
import { TestClock } from '../support/clock';
import { written } from '../support/written';

const HALF = { phase: 'project', events: 500, total: 1000, share: 0.5, rate: 250, secondsLeft: 1.2 } as const;

test('A terminal shows a progress bar with the rate and the time left', async () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
  const display = await progressOn(terminal);
  display.show(HALF);
  display.end();
  expect(written(terminal)).toMatch(
    /projecting the log \[=+-+\] 50% \| 500\/1000 events \| 250\/s \| 2 s left/,
  );
});

test('Other outputs get a line per phase and one every five seconds', async () => {
  const file = new PassThrough();
  let now = 0;
  const display = await progressOn(file, () => now);
  display.show(HALF);
  now += 4_999;
  display.show({ ...HALF, events: 600 });
  now += 1;
  display.show({ ...HALF, events: 700 });
  display.show({ ...HALF, phase: 'swap' });
  display.end();
  expect(written(file).split('\n')).toEqual([
    'projecting the log: 500 of 1000 events, 250/s, 2 s left',
    'projecting the log: 700 of 1000 events, 250/s, 2 s left',
    'completing the new generation: 500 of 1000 events, 250/s, 2 s left',
    '',
  ]);
});

test('Of several read models and logs, it says what is of the whole, and which part is under way (decisions X128)', async () => {
  const [file, terminal] = [
    new PassThrough(),
    Object.assign(new PassThrough(), { isTTY: true, columns: 160 }),
  ];
  const part = 'part 1 of 2, the event log';
  const all = { ...HALF, readModels: 11, part } as const;
  for (const output of [file, terminal]) {
    const display = await progressOn(output);
    display.show(all);
    display.show({ ...all, phase: 'compare', readModel: { name: 'vouchers', number: 4 } });
    display.end();
  }
  expect(written(file).split('\n')).toEqual([
    'part 1 of 2, the event log: projecting the log for 11 read models: 500 of 1000 events, 250/s, 2 s left',
    'part 1 of 2, the event log: comparing with the live generation: vouchers, 4 of 11 read models, 2 s left',
    '',
  ]);
  expect(written(terminal)).toMatch(
    /comparing with the live generation \[=*-+\] 27% \| vouchers, 4 of 11 read models/,
  );
});

test('As long as nothing was found, there is the share of the log that was read, and the time left', async () => {
  let now = 0;
  const clock = new TestClock(
    () => 0,
    () => now,
  );
  const meter = new ProgressMeter(clock);
  now += 3_000;
  meter.count(0);
  const progress = { phase: 'export', ...meter.at(0.25) } as const;
  const [file, terminal] = [
    new PassThrough(),
    Object.assign(new PassThrough(), { isTTY: true, columns: 120 }),
  ];
  for (const output of [file, terminal]) {
    const display = await progressOn(output);
    display.show(progress);
    display.end();
  }
  expect(written(file)).toBe('exporting the log: 25 %, no events yet, 0/s, 9 s left\n');
  expect(written(terminal)).toMatch(/exporting the log \[=+-+\] 25% \| no events \| 0\/s \| 9 s left/);
});
