import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DIST } from '../../support/built';
import { sendingTo } from './receivers';

const { receiver } = sendingTo();

describe('a process without file descriptors', () => {
  it('counts no attempt for the receiver (decisions N4)', async () => {
    const to = await receiver(() => undefined, { host: '0.0.0.0' });
    const script = `
      const { Sender } = require(${JSON.stringify(join(DIST, 'src/delivery/sending/sender.js'))});
      const { SYSTEM_CLOCK } = require(${JSON.stringify(join(DIST, 'src/runtime/clock.js'))});
      const { AllowedAddresses } = require(${JSON.stringify(join(DIST, 'src/delivery/sending/addresses.js'))});
      const sender = new Sender({ clock: SYSTEM_CLOCK, allowed: AllowedAddresses.parse('127.0.0.0/8'), attemptMs: 2000 });
      const attempt = (at) => sender.attempt({
        id: 'msg_1', sequence: 1, number: 1, secrets: [],
        request: { method: 'GET', url: 'http://127.0.1.' + at + ':${to.port}/' },
      });
      Promise.all(Array.from({ length: 100 }, (_, at) => attempt(at))).then(async (results) => {
        await sender.close();
        console.log(JSON.stringify(results.map(({ end, error }) => end + ': ' + error)));
      });`;
    const command = 'ulimit -n 64 && exec "$0" -e "$1"';
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command, process.execPath, script]);
    const results = JSON.parse(stdout) as readonly string[];
    expect([...new Set(results)].sort()).toEqual([
      'aborted: the sender had no resources',
      'timeout: no answer within 2 s',
    ]);
  });
});
