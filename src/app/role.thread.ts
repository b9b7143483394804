import { type OpenServed, serveThread } from '../runtime/thread';
import { type ThreadRole } from './role';

/** Each is loaded only by the threads that have this role. */
const ROLES: Readonly<Record<ThreadRole, () => Promise<{ readonly run: OpenServed<ThreadRole> }>>> = {
  automation: () => import('./roles/automation.js'),
  exporter: () => import('./roles/exporter.js'),
  loader: () => import('./roles/loader.js'),
  'log-endpoint': () => import('./roles/log-endpoint.js'),
  notifier: () => import('./roles/notifier.js'),
  projector: () => import('./roles/projector.js'),
  validator: () => import('./roles/validator.js'),
};

/** The entry of the threads that `startRole` starts. */
serveThread(async (data, report, role: ThreadRole) => {
  const { run } = await ROLES[role]();
  return await run(data, report, role);
});
