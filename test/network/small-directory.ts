import { type Fact } from '../../src/network/decider';
import { Directory } from '../../src/network/directory';
import { networkFacts, networkOf, readNetwork } from '../../src/network/network-facts';
import { type NetworkFile } from '../../src/network/network-file';
import { smallNetwork } from '../support/small-network';

/** Time of all events. */
export const AT = '2026-01-05T08:00:00.000Z';

export function factsFor(file: NetworkFile): readonly Fact[] {
  return networkFacts(readNetwork(file, networkOf(new Directory())), AT);
}

export function directoryOf(facts: readonly Fact[]): Directory {
  const directory = new Directory();
  for (const { event } of facts) directory.evolve(event);
  return directory;
}

export const small = (): Directory => directoryOf(factsFor(smallNetwork()));
