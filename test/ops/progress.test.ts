import { PassThrough } from 'node:stream';
import { progressOn } from '../../src/ops/cli/progress';

const HALF = { phase: 'fold', events: 500, total: 1000, rate: 250, secondsLeft: 1.2 } as const;

test('A terminal shows progress as a bar with its rate and the time left', async () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
  const display = await progressOn(terminal);
  display.show(HALF);
  display.end();
  expect(String(terminal.read())).toMatch(
    /folding the log \[=+-+\] 50% \| 500\/1000 events \| 250\/s \| 2 s left/,
  );
});

test('Anything else gets a line for each phase, and one now and then', async () => {
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
  expect(String(file.read()).split('\n')).toEqual([
    'folding the log: 500 of 1000 events, 250/s, 2 s left',
    'folding the log: 700 of 1000 events, 250/s, 2 s left',
    'swapping it in: 500 of 1000 events, 250/s, 2 s left',
    '',
  ]);
});
