import { Refused, unavailable } from './failure';

/** Older versions do not report when a subscription has caught up; `unknown` ones read streams without positions. */
const OLDEST = '23.10';

/** Raises `EngineUnavailable` if the server is too old. */
export function checkVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  // 0.0.0 is a development build of the server.
  if (version.startsWith('0.') || major * 100 + minor >= 2310) return;
  throw unavailable(new Refused(`it is version ${version}: expected EventStoreDB ${OLDEST} or later`));
}
