import { randomBytes } from 'node:crypto';
import { fingerprintOf } from '../network/changes';
import { type Fact, factOf } from '../network/decider';
import { type Directory } from '../network/directory';
import { type System, type Token } from '../network/events';
import { NetworkFaults, networkOf, readNetwork, tokenFact } from '../network/network-facts';
import { isExpired, tokenHash } from '../network/organisations';
import { readDate } from '../wire/date';
import { lastUses } from '../network/token-uses';
import { type ReadStore } from '../kernel/read-store';
import { defined } from '../kernel/values';
import { UsageError } from './command-error';

export interface TokenHolder {
  readonly organisationId: number;
  readonly system: System;
  readonly siteId?: number;
}

/** A token as operators see it. */
export interface ListedToken extends TokenHolder {
  readonly organisation: string;
  /** The first digits of its hash. */
  readonly fingerprint: string;
  readonly expires?: string;
  readonly isExpired: boolean;
  /** A day, UTC. */
  readonly lastUsed?: string;
}

/** A new random token: 40 hexadecimal digits. */
export function newToken(): string {
  return randomBytes(20).toString('hex');
}

/** All tokens, or those of one organisation, by organisation, system and site. */
export async function listTokens(
  directory: Directory,
  store: ReadStore,
  now: Date,
  organisationId?: number,
): Promise<readonly ListedToken[]> {
  const tokens = tokensIn(directory).filter(
    (token) => organisationId === undefined || token.organisationId === organisationId,
  );
  const uses = await lastUses(
    store,
    tokens.map(({ hash }) => hash),
  );
  return tokens
    .map((token): ListedToken => {
      const { organisationId: id, system, siteId, expires, hash } = token;
      const lastUsed = uses.get(hash);
      return {
        organisationId: id,
        organisation: directory.organisations.get(id)?.name ?? '',
        system,
        ...defined({ siteId }),
        fingerprint: fingerprintOf(token),
        ...defined({ expires }),
        isExpired: isExpired(token, now),
        ...(lastUsed === undefined ? {} : { lastUsed }),
      };
    })
    .sort(
      (a, b) =>
        a.organisationId - b.organisationId ||
        a.system.localeCompare(b.system) ||
        (a.siteId ?? 0) - (b.siteId ?? 0),
    );
}

/** A new token for a holder, and the fact that issues it. Raises `UsageError`. */
export function issueToken(
  directory: Directory,
  holder: TokenHolder,
  { at, expires }: { readonly at: string; readonly expires?: string },
): { readonly token: string; readonly fact: Fact } {
  requireHolder(directory, holder);
  const token = newToken();
  return {
    token,
    fact: tokenFact({ ...holder, ...(expires === undefined ? {} : { expires }) }, tokenHash(token), at),
  };
}

/** The fact that revokes the token whose fingerprint starts with these digits. Raises `UsageError`. */
export function revokeToken(directory: Directory, fingerprint: string, at: string): Fact {
  const [token, ...others] = /^[0-9a-f]{6,64}$/i.test(fingerprint)
    ? tokensIn(directory).filter(({ hash }) => hash.startsWith(fingerprint.toLowerCase()))
    : [];
  if (token === undefined)
    throw new UsageError(`${fingerprint}: expected a fingerprint that "affilog tokens list" shows`);
  if (others.length > 0)
    throw new UsageError(
      `${fingerprint}: expected more digits, since ${others.length + 1} tokens have these`,
    );
  const { organisationId, hash } = token;
  return factOf({ type: 'TokenRevoked', data: { organisationId, hash, at } });
}

/** When a token expires: a date or date-time of ISO 8601, or days from now such as `90d`. Raises `UsageError`. */
export function readExpiry(text: string, now: Date): string {
  const days = /^([1-9]\d{0,4})d$/.exec(text)?.[1];
  const time =
    days === undefined
      ? /^\d+$/.test(text)
        ? undefined
        : readDate(text)
      : now.getTime() + Number(days) * 86_400_000;
  if (time === undefined || time <= now.getTime())
    throw new UsageError(
      `--expires ${text}: expected a time in the future such as 2030-01-31, 2030-01-31T12:00:00Z or 90d`,
    );
  return new Date(time).toISOString();
}

function tokensIn({ organisations }: Directory): readonly (Token & { readonly organisationId: number })[] {
  return [...organisations.all()].flatMap(({ id }) =>
    [...organisations.tokensOf(id)].map((token) => ({ ...token, organisationId: id })),
  );
}

/** Flags by the keys of an entry in a network file, whose rules apply. */
const FLAGS: Readonly<Record<string, string>> = {
  organisationId: '--organisation',
  system: '--system',
  siteId: '--site',
};

function requireHolder(directory: Directory, holder: TokenHolder): void {
  try {
    readNetwork({ tokens: [holder] }, networkOf(directory));
  } catch (error) {
    if (!(error instanceof NetworkFaults)) throw error;
    const lines = error.faults.map(
      ({ path, message }) => `${FLAGS[path.replace('$.tokens[0].', '')] ?? path}: ${message}`,
    );
    throw new UsageError(lines.join('\n'));
  }
}
