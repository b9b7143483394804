/**
 * Reference data as events: one stream per organisation, program, site and category, `feedinfo-<id>` for the
 * definition of a feed (its products have a stream of their own), `mapping-<feedId>` for a feed's category mappings.
 *
 * The names and shapes of these events are the storage format: add, never rename. `at` is an ISO 8601 instant. A
 * definition contains the whole entity and replaces the previous one.
 */

import { type EventOf } from '../kernel/decider';

/** The service that a token is for: the account's token areas (Document 1, Authentication; `docs/decisions.md#a4`). */
export const SYSTEMS = ['PRODUCTS', 'VOUCHERS', 'CONVERSIONS', 'CLAIMS', 'OPS'] as const;
export type System = (typeof SYSTEMS)[number];

export const ORGANISATION_KINDS = ['advertiser', 'publisher', 'operator'] as const;
export type OrganisationKind = (typeof ORGANISATION_KINDS)[number];

export const PROGRAM_STATUSES = ['active', 'paused', 'closed'] as const;
export type ProgramStatus = (typeof PROGRAM_STATUSES)[number];

export const STATUS_AFTER = {
  ProgramActivated: 'active',
  ProgramPaused: 'paused',
  ProgramClosed: 'closed',
} as const satisfies Readonly<Record<string, ProgramStatus>>;

export interface OrganisationDefinition {
  readonly id: number;
  readonly kind: OrganisationKind;
  readonly name: string;
}

/**
 * A stored token, identified by organisation, system and site; `hash` is the `tokenHash` of what callers send. At
 * `expires`, an ISO 8601 instant, it becomes invalid; without it, it is valid until it is revoked or replaced.
 */
export interface Token {
  readonly system: System;
  readonly siteId?: number;
  readonly hash: string;
  readonly expires?: string;
}

/** `country` ISO 3166-1, `currency` ISO 4217; `daysToAutoApprove` null: claims are not approved automatically. */
export interface ProgramDefinition {
  readonly id: number;
  readonly organisationId: number;
  readonly name: string;
  readonly country: string;
  readonly currency: string;
  readonly logoUrl: string | null;
  readonly acceptsClaims: boolean;
  readonly daysToAutoApprove: number | null;
  /** Of a closed program: its invoices were paid (`docs/decisions.md#t4`). */
  readonly invoicesPaid?: boolean;
  readonly events: readonly ConversionEvent[];
}

/** An event that a program pays for. `inquiry`: the standard event for claims (Document 3). */
interface ConversionEvent {
  readonly id: number;
  readonly name: string;
  readonly kind: 'sale' | 'lead';
  readonly pendingDays: number;
  /** At the end of the pending period the system denies rather than approves (`docs/decisions.md#t4`). */
  readonly autoDeny?: boolean;
  readonly inquiry: boolean;
  readonly commission?: Commission;
}

/** Per cent of the order value, or an amount in the program's currency, with two decimals unless it names others. */
type Commission = { readonly percent: number } | { readonly fixed: number; readonly decimals?: number };

export interface SiteDefinition {
  readonly id: number;
  readonly organisationId: number;
  readonly name: string;
  readonly url: string;
}

/** `programIds`: at least one, all of one organisation; the first determines the currency. `language` ISO 639-1. */
export interface FeedDefinition {
  readonly id: number;
  readonly programIds: readonly number[];
  readonly name: string;
  readonly language: string;
  readonly active: boolean;
  readonly visible: boolean;
  readonly secret: boolean;
  readonly sendToNewPF: boolean;
}

/** A platform category: `id` an integer as a string, `names` by ISO 639-1 code, always including English. */
export interface CategoryDefinition {
  readonly id: string;
  readonly parentId: string | null;
  readonly names: Readonly<Record<string, string>>;
}

export type OrganisationEvent =
  | EventOf<'OrganisationDefined', OrganisationDefinition>
  | EventOf<'OrganisationRemoved', { id: number }>
  | EventOf<'TokenIssued', { organisationId: number } & Token>
  | EventOf<'TokenRevoked', { organisationId: number; hash: string }>;

/** A program is active as soon as it is defined. */
export type ProgramEvent =
  | EventOf<'ProgramDefined', ProgramDefinition>
  | EventOf<'ProgramActivated' | 'ProgramPaused' | 'ProgramClosed', { id: number }>
  | EventOf<'ProgramRemoved', { id: number }>;

export type SiteEvent =
  | EventOf<'SiteDefined', SiteDefinition>
  | EventOf<'SiteRemoved', { id: number }>
  | EventOf<'SiteConnected' | 'SiteDisconnected', { siteId: number; programId: number }>;

export type FeedInfoEvent = EventOf<'FeedDefined', FeedDefinition> | EventOf<'FeedRemoved', { id: number }>;

export type CategoryEvent =
  EventOf<'CategoryDefined', CategoryDefinition> | EventOf<'CategoryRemoved', { id: string }>;

/** `name` is the advertiser's exact category name; a new mapping of the name replaces the previous one. */
export type MappingEvent =
  | EventOf<'CategoryMapped', { feedId: number; name: string; categoryId: string }>
  | EventOf<'CategoryUnmapped', { feedId: number; name: string }>;

export type DirectoryEvent =
  OrganisationEvent | ProgramEvent | SiteEvent | FeedInfoEvent | CategoryEvent | MappingEvent;

/** Prefixes of the directory's streams. */
export const DIRECTORY_PREFIXES = [
  'organisation-',
  'program-',
  'site-',
  'feedinfo-',
  'category-',
  'mapping-',
] as const;
