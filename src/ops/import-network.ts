import { randomBytes } from 'node:crypto';
import { type Fact } from '../directory/decider';
import { Directory } from '../directory/directory';
import { directoryAt } from '../directory/fold';
import { readNetwork } from '../directory/network-check';
import { networkFacts, networkOf, removalsOf, tokenFact } from '../directory/network-facts';
import { type Network } from '../directory/network-file';
import { tokenHash } from '../directory/token';
import { type EventLog } from '../kernel/event-log';
import { type Appended, appendFacts } from '../directory/append-facts';

export interface ImportOptions {
  /** When it is said to have happened: ISO 8601. */
  readonly at: string;
  /** Remove what the file does not mention. */
  readonly prune?: boolean;
  /** Told of each token made up, as soon as it is valid: there is no other way to learn it. */
  readonly onToken?: (token: NewToken) => void;
}

export interface NewToken {
  readonly token: string;
  readonly organisationId: number;
  readonly system: string;
  readonly siteId?: number;
}

/**
 * Brings the network to what a network file (its JSON) says, appending only what changes. The file is checked as
 * a whole before anything is appended (`NetworkFaults`). Broken off, the same import again completes it; others
 * may write meanwhile.
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

/** A token for each entry that has none in the file; it is issued only if it has none in the network either. */
function tokensFor(network: Network, at: string): ReadonlyMap<Fact, NewToken> {
  const without = network.tokens.filter(({ hash }) => hash === undefined);
  return new Map(
    without.map((entry) => {
      const token = randomBytes(20).toString('hex');
      return [
        { ...tokenFact(entry, tokenHash(token), at), ifNone: true },
        { ...entry, token },
      ];
    }),
  );
}
