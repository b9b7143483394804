// A thread as servers have them, of the compiled program, which dies when it is asked to.
const { threadId, workerData } = require('node:worker_threads');
const { SYSTEM_CLOCK } = require(`${workerData.data.dist}/src/runtime/clock.js`);
const { serveThread } = require(`${workerData.data.dist}/src/runtime/thread.js`);

serveThread(SYSTEM_CLOCK, ({ cannotOpen }, report) => {
  if (cannotOpen) throw new Error('it cannot be opened');
  return {
    calls: {
      id: () => threadId,
      complain: () => report(new Error('a complaint')),
      die: () =>
        new Promise(() =>
          setImmediate(() => {
            throw new Error('a bug');
          }),
        ),
    },
    close: [() => report(new Error('it was closed'))],
  };
});
