import { retryNotices } from '../../src/runtime/unavailable';
import { TestClock } from '../support/clock';

const DOWN = 'the event log is not available: it cannot be reached (ECONNREFUSED)';

test('a failure that is retried is reported at once, and again at growing intervals (decisions X96)', () => {
  const said: string[] = [];
  let now = 0;
  const clock = new TestClock(Date.now, () => now);
  const onRetry = retryNotices(clock, (line) => said.push(`${now / 1000} s: ${line}`));
  for (now = 0; now <= 40_000; now += 1_000) onRetry(DOWN);
  expect(said).toEqual([
    `0 s: ${DOWN}; retrying`,
    `5 s: ${DOWN}; still retrying, 6 failures so far`,
    `15 s: ${DOWN}; still retrying, 16 failures so far`,
    `35 s: ${DOWN}; still retrying, 36 failures so far`,
  ]);
});

test('another failure, or the same one after a minute without it, is reported at once', () => {
  const said: string[] = [];
  let now = 0;
  const clock = new TestClock(Date.now, () => now);
  const onRetry = retryNotices(clock, (line) => said.push(line));
  onRetry(DOWN);
  onRetry('it is overloaded');
  onRetry(DOWN);
  now = 60_001;
  onRetry(DOWN);
  expect(said).toEqual([`${DOWN}; retrying`, 'it is overloaded; retrying', `${DOWN}; retrying`]);
});
