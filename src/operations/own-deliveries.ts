import { type Config } from '../settings/config';
import { type Engines } from '../engines/open';
import { ownerOf, secretsOf } from './installation';
import { continueFromHere } from '../delivery/matching/cursor';
import { takeDeliveries } from '../domain/deliveries/ownership';

/**
 * Makes this installation the one that sends the notifications of its log. Without a delivery log, which a copy may lack, nothing
 * is sent about what happened before. False if it was the one already.
 */
export async function ownDeliveries(
  { log, deliveries }: Engines,
  config: Pick<Config, 'dataDir' | 'eventLog' | 'notifyKey'>,
  now: Date,
): Promise<boolean> {
  const owner = await ownerOf(config, await secretsOf(config));
  if (!(await takeDeliveries(log, owner, now))) return false;
  await continueFromHere(await deliveries(), log, now);
  return true;
}
