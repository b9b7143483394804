import { hash } from 'node:crypto';
import { defined } from '../kernel/values';
import {
  type OrganisationDefinition,
  type OrganisationEvent,
  type OrganisationKind,
  type System,
  type Token,
} from './events';

/** The holder of a token: an organisation in one system. A publisher's token may be limited to one of its sites. */
export interface Caller {
  readonly tokenHash: string;
  readonly organisationId: number;
  readonly kind: OrganisationKind;
  readonly system: System;
  readonly siteId?: number;
  /** When the token expires (ISO 8601), if it does. */
  readonly expires?: string;
}

/**
 * Whether such organisations have tokens of a system: operators have those that no others have, and transactions
 * (`docs/decisions.md#t2`).
 */
export function mayHave(kind: OrganisationKind, system: System): boolean {
  return system === 'CONVERSIONS' || (kind === 'operator') === (system === 'OPS');
}

/** Whether a token is no longer valid at a time (`docs/decisions.md#x94`). */
export function isExpired({ expires }: Pick<Token, 'expires'>, at: Date): boolean {
  return expires !== undefined && Date.parse(expires) <= at.getTime();
}

export class Organisations {
  private readonly definitions = new Map<number, OrganisationDefinition>();
  private readonly tokens = new Map<number, Map<string, Token>>();
  private readonly owners = new Map<string, number>();

  all(): Iterable<OrganisationDefinition> {
    return this.definitions.values();
  }

  get(id: number): OrganisationDefinition | undefined {
    return this.definitions.get(id);
  }

  tokensOf(id: number): Iterable<Token> {
    return this.tokens.get(id)?.values() ?? [];
  }

  /** An organisation's token for a system, and for a site if given. */
  tokenFor(id: number, { system, siteId }: Pick<Token, 'system' | 'siteId'>): Token | undefined {
    return this.tokens.get(id)?.get(tokenKey(system, siteId));
  }

  /** The holder of the token with this hash, expired or not. */
  callerOf(hash: string): Caller | undefined {
    const organisation = this.definitions.get(this.owners.get(hash) ?? NaN);
    if (organisation === undefined) return undefined;
    for (const { hash: tokenHash, system, siteId, expires } of this.tokensOf(organisation.id)) {
      if (tokenHash !== hash) continue;
      const { id: organisationId, kind } = organisation;
      return { tokenHash, organisationId, kind, system, ...defined({ siteId, expires }) };
    }
    return undefined;
  }

  evolve(event: OrganisationEvent): void {
    switch (event.type) {
      case 'OrganisationDefined':
        this.definitions.set(event.data.id, event.data);
        return;
      case 'OrganisationRemoved':
        for (const token of [...this.tokensOf(event.data.id)]) this.revoke(event.data.id, token);
        this.definitions.delete(event.data.id);
        return;
      case 'TokenIssued': {
        const { organisationId, system, siteId, hash } = event.data;
        const before = this.tokenFor(organisationId, event.data);
        if (before !== undefined) this.revoke(organisationId, before);
        const tokens = this.tokens.get(organisationId) ?? new Map<string, Token>();
        this.tokens.set(organisationId, tokens.set(tokenKey(system, siteId), event.data));
        this.owners.set(hash, organisationId);
        return;
      }
      case 'TokenRevoked':
        for (const token of [...this.tokensOf(event.data.organisationId)])
          if (token.hash === event.data.hash) this.revoke(event.data.organisationId, token);
    }
  }

  private revoke(id: number, { system, siteId, hash }: Token): void {
    this.tokens.get(id)?.delete(tokenKey(system, siteId));
    if (this.owners.get(hash) === id) this.owners.delete(hash);
  }
}

function tokenKey(system: System, siteId: number | undefined): string {
  return `${system}/${siteId ?? ''}`;
}

/** A token: 40 hexadecimal digits (Document 1, Limits). */
export const TOKEN = /^[0-9a-f]{40}$/i;

/** The hash by which a token is stored and looked up; case does not matter. */
export function tokenHash(token: string): string {
  return hash('sha256', token.toLowerCase());
}
