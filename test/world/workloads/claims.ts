import { type ClaimContent } from '../../../src/domain/claims/claim';
import { OrderSearch } from '../../../src/processes/order-search';
import { ClaimCommands } from '../../../src/services/claims/commands';
import { type Clients, type Command } from '../clients';
import { type ApiParts } from '../host';
import { type Random } from '../random';
import { CALLERS, CLAIMED, GERMAN } from './network-file';

const commands = ({ clock, engines: { log, store }, follower, visible }: ApiParts) =>
  new ClaimCommands(log, OrderSearch.over(clock, store), follower, clock, visible);

const [, , PUBLISHER] = CALLERS;

/** Which claim it is (decisions C4). */
interface Claim {
  readonly programId: number;
  readonly orderNumber: string;
  readonly eventId: number;
  readonly timeStampEvent: string;
}

const isOf = (claim: Claim, { programId, orderNumber, eventId, transactionDate }: ClaimContent): boolean =>
  claim.programId === programId &&
  claim.orderNumber === orderNumber &&
  claim.eventId === eventId &&
  claim.timeStampEvent === transactionDate;

const claimOf = (random: Random, clients: Clients, programId: number): Claim => ({
  programId,
  orderNumber: `o${clients.few(random, 20)}`,
  eventId: random.pick(CLAIMED),
  timeStampEvent: random.chance(0.8) ? '2026-02-20' : '2026-02-21',
});

/** As it is posted: of the inquiry event with the commission that is expected. */
const posted = (claim: Claim) => ({
  ...claim,
  ...{ affiliateSiteId: 1101, orderValue: 100 },
  ...(claim.eventId === CLAIMED[0] ? { expectedCommission: 5 } : {}),
});

/** Several are filed together, or none. */
export const fileClaims: Command<{ readonly claims: readonly Claim[] }, { readonly ids: readonly number[] }> =
  {
    name: 'file claims',
    hasKeys: true,
    weight: 5,
    draw: (random, clients) => ({
      claims: Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () =>
        claimOf(random, clients, random.pick(GERMAN).programId),
      ),
    }),
    run: (api, { claims }) =>
      api.of(commands).create({ name: 'claims', items: claims.map(posted), format: 'json' }, PUBLISHER),
    asksFor: {
      ClaimFiled: ({ claims }, { data }) => claims.some((one) => isOf(one, data.claim)),
      ClaimBatchAccepted: ({ claims }, { data }) =>
        claims.length === data.claims.length && claims.every((one, at) => isOf(one, data.claims[at]!.claim)),
    },
    // Of several, their post is accepted: anybody files them then.
    happensIn: (_, { ids: [first, ...more] }) => [
      more.length === 0 ? `claim-${first ?? ''}` : `claim-batch-${first ?? ''}`,
    ],
  };

const streamOf = ({ claimId }: Pick<Known, 'claimId'>): string => `claim-${claimId}`;

/** A claim as its parties know it: nobody has told them of updates that were not answered. */
interface Known {
  readonly claimId: number;
  readonly versionNo: number;
}

function known(random: Random, clients: Clients): (Known & { readonly programId: number }) | undefined {
  const filed = clients
    .done(fileClaims)
    .flatMap(({ what, result: { ids } }) =>
      what.claims.map(({ programId }, at) => ({ programId, claimId: ids[at] ?? NaN })),
    );
  if (filed.length === 0) return undefined;
  const one = filed[clients.few(random, filed.length)]!;
  const updates = [...clients.done(reviseClaim), ...clients.done(ruleOnClaim)];
  return { ...one, versionNo: updates.filter(({ what }) => what.claimId === one.claimId).length };
}

export const reviseClaim: Command<Known & { readonly claim: Claim }> = {
  name: 'revise claim',
  weight: 3,
  draw: (random, clients) => {
    const { programId, ...which } = known(random, clients) ?? {};
    if (programId === undefined) return undefined;
    return { ...(which as Known), claim: claimOf(random, clients, programId) };
  },
  run: (api, { claim, ...which }) => {
    const items = [{ ...which, ...posted(claim) }];
    return api.of(commands).revise({ name: 'claimUpdates', items, format: 'json' }, PUBLISHER);
  },
  stream: streamOf,
  asksFor: {
    ClaimRevised: ({ versionNo, claim }, { data }) =>
      data.version === versionNo + 1 && isOf(claim, data.claim),
  },
};

export const withdrawClaim: Command<Known> = {
  name: 'withdraw claim',
  weight: 1.5,
  draw: (random, clients) => {
    const { claimId, versionNo } = known(random, clients) ?? {};
    return claimId === undefined || versionNo === undefined ? undefined : { claimId, versionNo };
  },
  run: (api, { claimId, versionNo }) => api.of(commands).delete(claimId, versionNo, PUBLISHER),
  stream: streamOf,
  asksFor: { ClaimWithdrawn: true },
};

export const ruleOnClaim: Command<
  Known & { readonly organisationId: number; readonly statusIdClaim: number }
> = {
  name: 'rule on claim',
  weight: 3,
  draw: (random, clients) => {
    const { programId, ...which } = known(random, clients) ?? {};
    if (programId === undefined) return undefined;
    const organisationId = programId === 201 ? 2 : 1;
    return { ...(which as Known), organisationId, statusIdClaim: random.pick([3, 3, 204]) };
  },
  run: (api, { organisationId, ...ruling }) => {
    const rulings = { name: 'claimUpdates', items: [ruling], format: 'json' } as const;
    return api.of(commands).rule(rulings, { organisationId, kind: 'advertiser' });
  },
  stream: streamOf,
  asksFor: {
    ClaimRuled: ({ versionNo, statusIdClaim }, { data }) =>
      data.by === 'advertiser' && data.version === versionNo + 1 && data.statusId === statusIdClaim,
  },
};
