import { setEnvironmentData } from 'node:worker_threads';

/** Loaded before the program (`node --require`), it counts nothing: what metrics cost is measured against it. */
setEnvironmentData('affilog.metrics', 'off');
