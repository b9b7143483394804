import { lookup, Resolver } from 'node:dns/promises';
import { NamedError } from '../../kernel/fault';
import { type Clock } from '../../runtime/clock';
import { codeOf } from '../../kernel/values';

/**
 * A name has no addresses. Either it is the receiver's fault, or the DNS servers of this machine do not work: then no
 * name can be resolved, and nothing can be said about the receiver.
 */
export class UnresolvedName extends NamedError {
  constructor(readonly isOurFault: boolean) {
    super(isOurFault ? 'names cannot be resolved' : 'the host name cannot be resolved');
  }
}

/**
 * Time (ms) for the first try of a query; the second has as much or twice. Two queries fit into the time for a
 * connection.
 */
const QUERY_MS = 600;

/** How long (ms) answers are used again, whatever their time to live is. */
const LEAST_MS = 1_000;
const MOST_MS = 60_000;
const MOST_NAMES = 10_000;

/** Answers: there is no such name, or it has no address of this family. */
const NO_ADDRESS: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EFORMERR']);

interface FoundAddresses {
  readonly address: string;
  /** Seconds. */
  readonly ttl: number;
}

interface KnownAddresses {
  readonly addresses: readonly string[];
  readonly until: number;
}

/**
 * Resolves names by DNS queries of its own. The resolver of the operating system occupies a thread of four for each
 * name: four names whose servers do not answer would block all others, and files too.
 */
export class ReceiverNames {
  private queries: Resolver;
  private readonly cached = new Map<string, KnownAddresses>();
  private readonly pending = new Map<string, Promise<KnownAddresses>>();
  /** The last name for which there were addresses. */
  private resolved: string | undefined;
  private isClosed = false;

  /**
   * `hasLocalNames`: names that DNS does not know are looked up by the operating system (`localhost`, the file
   * `hosts`). `servers`: of DNS, by default those of the machine.
   */
  constructor(
    private readonly clock: Clock,
    private readonly hasLocalNames: boolean,
    private readonly servers?: () => readonly string[],
  ) {
    this.queries = this.resolver();
  }

  /** At least one address. Raises `UnresolvedName`. */
  async addressesOf(name: string): Promise<readonly string[]> {
    const known = this.cached.get(name);
    if (known !== undefined && this.clock.monotonic() < known.until) return known.addresses;
    let pending = this.pending.get(name);
    if (pending === undefined) {
      pending = this.resolve(name).finally(() => this.pending.delete(name));
      this.pending.set(name, pending);
    }
    return (await pending).addresses;
  }

  close(): void {
    this.isClosed = true;
    this.queries.cancel();
  }

  private resolver(): Resolver {
    const resolver = new Resolver({ timeout: QUERY_MS, tries: 2 });
    if (this.servers !== undefined) resolver.setServers(this.servers());
    return resolver;
  }

  private async resolve(name: string): Promise<KnownAddresses> {
    const found = await this.query(name);
    const addresses = found.map(({ address }) => address);
    const ttl = Math.min(...found.map((one) => one.ttl * 1000));
    const known = { addresses, until: this.clock.monotonic() + Math.min(Math.max(ttl, LEAST_MS), MOST_MS) };
    if (this.cached.size >= MOST_NAMES) this.cached.clear();
    this.cached.set(name, known);
    return known;
  }

  /** What has arrived when both queries have ended: a time-out of one family does not spoil the other. */
  private async query(name: string): Promise<readonly FoundAddresses[]> {
    const options = { ttl: true } as const;
    const answers = await Promise.allSettled<readonly FoundAddresses[]>([
      this.queries.resolve4(name, options),
      this.queries.resolve6(name, options),
    ]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) {
      this.resolved = name;
      return found;
    }
    const isUnknown = answers.every((answer) => answer.status === 'fulfilled' || saysNothing(answer.reason));
    if (isUnknown) return this.local(name);
    throw new UnresolvedName(this.isClosed || !(await this.works()));
  }

  private async local(name: string): Promise<readonly FoundAddresses[]> {
    if (!this.hasLocalNames) throw new UnresolvedName(false);
    const found = await lookup(name, { all: true }).catch(() => {
      throw new UnresolvedName(false);
    });
    return found.map(({ address }) => ({ address, ttl: 0 }));
  }

  /**
   * Whether the DNS servers of the machine answer: most know those of the root, and some refuse to answer. Therefore
   * the name that was resolved last is asked for as well, at the same time.
   */
  private async works(): Promise<boolean> {
    const { queries, resolved } = this;
    const asked: Promise<unknown>[] = [queries.resolveNs('.')];
    if (resolved !== undefined) asked.push(queries.resolve4(resolved), queries.resolve6(resolved));
    const answered = await Promise.all(asked.map((one) => one.then(() => true, saysNothing)));
    const works = answered.includes(true);
    // The machine may have other servers by now, which only a new resolver uses.
    if (!works && !this.isClosed) this.queries = this.resolver();
    return works;
  }
}

/** Whether a query was answered: there is no such name or no such record. */
function saysNothing(error: unknown): boolean {
  return NO_ADDRESS.has(codeOf(error));
}
