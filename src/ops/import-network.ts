import { randomBytes } from 'node:crypto';
import { type Fact } from '../directory/decider';
import { Directory } from '../directory/directory';
import { directoryAt } from '../directory/directory';
import { readNetwork } from '../directory/network-check';
import { networkFacts, networkOf, removalsOf, tokenFact } from '../directory/network-facts';
import { type Network } from '../directory/network-file';
import { tokenHash } from '../directory/organisations';
import { type EventLog } from '../kernel/event-log';
import { type Appended, appendFacts } from '../directory/append-facts';

export interface ImportOptions {
  /** Time of the events: ISO 8601. */
  readonly at: string;
  /** Remove what the file does not contain. */
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

/**
 * Imports a network file (parsed JSON), appending only what changes. The whole file is validated first
 * (`NetworkFaults`). Running an interrupted import again completes it. Concurrent writes are safe.
 */
export async function importNetwork(log: EventLog, json: unknown, options: ImportOptions): Promise<Appended> {
  const { at, prune = false, onToken } = options;
  const directory = await directoryAt(log);
  const present = networkOf(directory);
  const network = readNetwork(json, prune ? networkOf(new Directory()) : present);
  const tokens = tokensFor(network, at);
  const facts = [
    ...networkFacts(network, at),
    ...tokens.keys(),
    ...(prune ? removalsOf(present, network, at) : []),
  ];

  return await appendFacts(log, facts, directory, (fact) => {
    const token = tokens.get(fact);
    if (token !== undefined) onToken?.(token);
  });
}

/** A new token for each entry without one in the file; issued only if the network has none either. */
function tokensFor(network: Network, at: string): ReadonlyMap<Fact, NewToken> {
  const entries = network.tokens.filter(({ hash }) => hash === undefined);
  return new Map(
    entries.map((entry) => {
      const token = randomBytes(20).toString('hex');
      return [
        { ...tokenFact(entry, tokenHash(token), at), ifNone: true },
        { ...entry, token },
      ];
    }),
  );
}
