import { PassThrough, Writable } from 'node:stream';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { failureReporter } from '../../src/runtime/failure-report';
import { logOutput, programLog } from '../../src/app/program-log';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { written } from '../support/written';

type Level = Parameters<typeof programLog>[0]['logLevel'];

/** A log, and what it has written. */
function logTo(terminal: boolean, logLevel: Level = 'info', logFormat?: 'pretty' | 'json') {
  const output = Object.assign(new PassThrough(), terminal ? { isTTY: true } : {});
  const log = programLog({ logLevel, ...(logFormat === undefined ? {} : { logFormat }) }, output);
  return { log, written: () => written(output) };
}

describe('the format of the log (decisions X86)', () => {
  it.each([
    [true, undefined, 'pretty'],
    [false, undefined, 'json'],
    [true, 'json', 'json'],
    [false, 'pretty', 'pretty'],
  ] as const)('on a terminal: %s, LOG_FORMAT: %s: it is %s', (terminal, setting, format) => {
    const { log, written } = logTo(terminal, 'info', setting);
    log.info({ id: 7 }, 'request');
    const line = written();
    if (format === 'json') expect(JSON.parse(line)).toMatchObject({ level: 30, id: 7, msg: 'request' });
    else expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info {2}request id=7\n$/);
  });

  it('pretty quotes what is not plain text, and shows stacks in lines of their own', () => {
    const { log, written } = logTo(true);
    log.warn({ path: '/a b', reason: '\u001b[31m\n', word: 'é', list: ['x'], c1: '\u009b31m' }, 'odd');
    expect(written()).toMatch(
      / warn {2}odd path="\/a b" reason="\\u001b\[31m\\n" word=é list=\["x"\] c1="\ufffd31m"\n$/,
    );
    log.error({ err: new TypeError('a bug') }, 'unexpected failure');
    expect(written()).toMatch(/ error unexpected failure\n {4}TypeError: a bug\n {4}at .*\n/);
  });

  it.each(['json', 'pretty'] as const)('%s has no tokens, wherever they are', (format) => {
    const { log, written } = logTo(false, 'info', format);
    const token = 'c0ffee'.repeat(7).slice(0, 40);
    log.info(
      { path: `/x${token}0`, err: new Error(token.toUpperCase()), deep: [{ [token]: 1 }] },
      `of ${token}`,
    );
    const line = written();
    expect(line.toLowerCase()).not.toContain(token);
    expect(line.match(/\*\*\*/g)?.length).toBeGreaterThanOrEqual(4);
  });

  it('drops lines that nobody reads', () => {
    const output = new Writable({ write: () => undefined });
    const log = logOutput(output);
    for (let at = 0; at < 3; at += 1) log.write('x y '.repeat(200_000));
    expect(output.writableLength).toBe(1_600_000);
  });
});

describe('a failure after which the process continues (decisions X87)', () => {
  const failed = () =>
    new EngineUnavailable('the read store is not available', { cause: new Error('connect ECONNREFUSED') });

  it('is logged once if it is expected, with its causes and without a stack', () => {
    const { log, written } = logTo(false);
    const report = failureReporter(SYSTEM_CLOCK, log);
    for (let at = 0; at < 3; at += 1) report(failed());
    report('the read store is not available: connect ECONNREFUSED', 'the stack of a thread');
    const lines = written().trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ level: 50, msg: 'the read store is not available: connect ECONNREFUSED' }),
    ]);
    expect(lines.join()).not.toContain('stack');
  });

  it('is logged with its stack, each time, at level debug', () => {
    const { log, written } = logTo(false, 'debug');
    const report = failureReporter(SYSTEM_CLOCK, log);
    for (let at = 0; at < 2; at += 1) report(failed());
    const lines = written()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: number; stack?: string });
    expect(lines.map(({ level }) => level)).toEqual([20, 50, 20]);
    expect(lines[2]?.stack).toMatch(/^(Error|EngineUnavailable): the read store is not available\n +at /);
  });

  it('is logged with its stack if it is a bug', () => {
    const { log, written } = logTo(false);
    failureReporter(SYSTEM_CLOCK, log)(new TypeError('a bug'));
    expect(JSON.parse(written())).toMatchObject({
      level: 50,
      msg: expect.stringMatching(/^TypeError: a bug\n +at /) as string,
    });
  });
});
