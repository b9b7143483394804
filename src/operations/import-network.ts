import { type Ids } from '../kernel/event';
import { type AppendedFacts, appendFacts, type Fact } from '../network/decider';
import { Directory, directoryAt } from '../network/directory';
import { networkFacts, networkOf, readNetwork, removalsOf, tokenFact } from '../network/network-facts';
import { type Network } from '../network/network-file';
import { tokenHash } from '../network/organisations';
import { type EventLog } from '../kernel/event-log';
import { isPosted } from '../wire/api/posted';
import { newToken } from './tokens';

export interface PlanOptions {
  readonly at: string;
  readonly prune?: boolean;
  /** Called with each generated token as soon as it is valid. It cannot be read again later. */
  readonly onToken?: (token: NewToken) => void;
}

export interface NewToken {
  readonly token: string;
  readonly organisationId: number;
  readonly system: string;
  readonly siteId?: number;
}

/** What an import would append. */
export interface NetworkImport {
  readonly facts: readonly Fact[];
  /** The generated tokens, by the facts that issue them. */
  readonly tokens: ReadonlyMap<Fact, NewToken>;
}

/**
 * Imports a network file (parsed JSON), appending only what changes. The whole file is validated first
 * (`NetworkFaults`). Running an interrupted import again completes it. Concurrent writes are safe.
 */
export async function importNetwork(
  uuids: Ids,
  log: EventLog,
  json: unknown,
  options: PlanOptions,
): Promise<AppendedFacts> {
  const directory = await directoryAt(log);
  const { facts, tokens } = planNetwork(directory, json, options);
  return await appendFacts(uuids, log, facts, directory, (fact) => {
    const token = tokens.get(fact);
    if (token !== undefined) options.onToken?.(token);
  });
}

/** Validates a network file and decides what its import appends. Raises `NetworkFaults`. */
export function planNetwork(
  directory: Directory,
  json: unknown,
  { at, prune = false }: Pick<PlanOptions, 'at' | 'prune'>,
): NetworkImport {
  const existing = networkOf(directory);
  const network = readNetwork(json, prune ? networkOf(new Directory()) : existing);
  const tokens = tokensFor(network, at);
  const target = isPosted(json) && json['tokens'] === undefined ? withTokensOf(existing, network) : network;
  const removals = prune ? removalsOf(existing, target, at) : [];
  return { facts: [...networkFacts(network, at), ...tokens.keys(), ...removals], tokens };
}

/** A file without the list `tokens` removes no token, except those of organisations and sites that it removes. */
function withTokensOf({ tokens }: Network, network: Network): Network {
  const organisations = new Set(network.organisations.map(({ id }) => id));
  const sites = new Set(network.sites.map(({ id }) => id));
  const retained = tokens.filter(
    ({ organisationId, siteId }) =>
      organisations.has(organisationId) && (siteId === undefined || sites.has(siteId)),
  );
  return { ...network, tokens: retained };
}

/** A new token for each entry without one in the file; issued only if the network has none either. */
function tokensFor(network: Network, at: string): ReadonlyMap<Fact, NewToken> {
  const entries = network.tokens.filter(({ hash }) => hash === undefined);
  return new Map(
    entries.map((entry) => {
      const token = newToken();
      const fact = { ...tokenFact(entry, tokenHash(token), at), ifNone: true };
      return [fact, { ...entry, token }] as const;
    }),
  );
}
