import { createHash, randomBytes } from 'node:crypto';
import { type BigIntStats } from 'node:fs';
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, InvalidSetting } from '../settings/config';
import { EngineUnavailable } from '../kernel/event-log';
import { type Owner } from '../domain/deliveries/ownership';
import { Secrets } from '../domain/subscriptions/subscription';
import { AllowedAddresses, UnusableNetwork } from '../delivery/sending/addresses';
import { codeOf } from '../kernel/values';

/** Where an installation is. */
export type InstallationPlace = Pick<Config, 'dataDir' | 'eventLog' | 'notifyKey'>;

/**
 * The secrets of subscriptions, from `NOTIFY_KEY` or from the file `notify.key` in the data folder, which is created if
 * needed. Raises `EngineUnavailable` if the file cannot be used.
 */
export async function secretsOf({ notifyKey, dataDir }: InstallationPlace): Promise<Secrets> {
  return new Secrets(Buffer.from(notifyKey ?? (await keyIn(join(dataDir, 'notify.key')))));
}

/** Identifies this installation to the log: a copy of the log has another place. */
export async function ownerOf(place: InstallationPlace, secrets: Secrets): Promise<Owner> {
  return { ...(await placeOf(place)), key: secrets.fingerprint };
}

/** The file of the log, or its servers. A file that is copied, or restored from a backup, is another file. */
async function placeOf({
  eventLog,
  dataDir,
}: InstallationPlace): Promise<Pick<Owner, 'installation' | 'created'>> {
  if (eventLog !== 'sqlite:') {
    const servers = eventLog.replace(/^[^/]*\/\/([^/]*@)?/, '').replace(/[/?].*$/, '');
    return { installation: `servers ${createHash('sha256').update(servers).digest('hex').slice(0, 16)}` };
  }
  const file = await stat(join(dataDir, 'log.sqlite'), { bigint: true });
  const created = createdAt(file, await stat(dataDir, { bigint: true }));
  return { installation: `file ${file.ino}`, ...(created === undefined ? {} : { created }) };
}

type FileTimes = Pick<BigIntStats, 'birthtimeNs' | 'ctimeNs'>;

/**
 * When a file was created, an ISO 8601 instant. Undefined if that is not recorded: then Node.js reports 0, or the time
 * of the last change, for the file and for its folder.
 */
export function createdAt(file: FileTimes, folder: FileTimes): string | undefined {
  const isRecorded = [file, folder].some(({ birthtimeNs, ctimeNs }) => birthtimeNs !== ctimeNs);
  if (file.birthtimeNs === 0n || !isRecorded) return undefined;
  return new Date(Number(file.birthtimeNs / 1_000_000n)).toISOString();
}

const KEY = /^[\da-f]{64}$/;

async function keyIn(file: string): Promise<string> {
  try {
    const key = (await readFile(file, 'utf8').catch(async () => await createdKey(file))).trim();
    if (KEY.test(key)) return key;
  } catch (cause) {
    throw new EngineUnavailable('the key of notifications cannot be read', { cause });
  }
  throw new EngineUnavailable(
    'the key of notifications is damaged: notify.key in the data folder must have 64 hexadecimal digits',
  );
}

/** Two processes that start at once read the same key: the one that is complete first. */
async function createdKey(file: string): Promise<string> {
  const own = `${file}.${randomBytes(8).toString('hex')}`;
  await writeFile(own, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  await link(own, file).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
  await rm(own);
  return await readFile(file, 'utf8');
}

/** What operators permit to be notified. Raises `InvalidSetting`. */
export function allowedBy({ notifyAllow }: Pick<Config, 'notifyAllow'>): AllowedAddresses {
  if (notifyAllow === undefined) return AllowedAddresses.none;
  try {
    return AllowedAddresses.parse(notifyAllow);
  } catch (error) {
    throw error instanceof UnusableNetwork ? new InvalidSetting(`NOTIFY_ALLOW: ${error.message}`) : error;
  }
}
