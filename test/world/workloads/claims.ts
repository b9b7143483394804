import { OrderSearch } from '../../../src/processes/order-search';
import { ClaimCommands } from '../../../src/services/claims/commands';
import { type Command } from '../clients';
import { type ApiParts } from '../host';
import { CALLERS, CLAIMED, GERMAN } from './network-file';

const commands = ({ clock, engines: { log, store }, follower, visible }: ApiParts) =>
  new ClaimCommands(log, OrderSearch.over(clock, store), follower, clock, visible);

interface Claim {
  readonly programId: number;
  readonly orderNumber: string;
}

export const fileClaim: Command<Claim, { readonly ids: readonly number[] }> = {
  name: 'file claim',
  weight: 4,
  draw: (random) => ({
    programId: random.pick(GERMAN).programId,
    orderNumber: `o${random.below(20)}`,
  }),
  run: (api, about) => {
    const order = { eventId: CLAIMED, orderValue: 100, expectedCommission: 5 };
    const claim = { ...about, ...order, affiliateSiteId: 1101, timeStampEvent: '2026-02-20' };
    const posted = { name: 'claims', items: [claim], format: 'json' } as const;
    return api.of(commands).create(posted, CALLERS[2]);
  },
};

interface Ruling {
  readonly organisationId: number;
  readonly claimId: number;
  readonly statusIdClaim: number;
}

export const ruleOnClaim: Command<Ruling> = {
  name: 'rule on claim',
  weight: 3,
  draw: (random, clients) => {
    const filed = clients.done(fileClaim);
    if (filed.length === 0) return undefined;
    const { what, result } = random.pick(filed);
    const organisationId = what.programId === 201 ? 2 : 1;
    return { organisationId, claimId: random.pick(result.ids), statusIdClaim: random.pick([3, 3, 204]) };
  },
  run: (api, { organisationId, ...ruling }) => {
    const posted = { name: 'claimUpdates', items: [{ ...ruling, versionNo: 0 }], format: 'json' } as const;
    return api.of(commands).rule(posted, { organisationId, kind: 'advertiser' });
  },
};
