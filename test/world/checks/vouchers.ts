import { type VoucherContent } from '../../../src/domain/vouchers/voucher';
import { type Happened } from '../clients';
import { EPOCH } from '../simulation';
import { require } from './broken';
import { type Check, happenedIn, historyOf } from './check';

/** Whether publishers see a voucher (V3): not yet, now, or no longer. */
const PHASES = ['coming', 'shown', 'over'] as const;
type Phase = (typeof PHASES)[number];

interface Voucher {
  readonly programId: number;
  readonly content: VoucherContent;
  readonly phase: Phase;
}

/** `at`: epoch ms. */
function phaseAt({ publishStartDate, publishEndDate, endDate }: VoucherContent, at: number): Phase {
  const timeOf = (date: string | undefined, otherwise: number): number =>
    date === undefined ? otherwise : Date.parse(date);
  if (at > Math.min(timeOf(publishEndDate, Infinity), Date.parse(endDate))) return 'over';
  return at < timeOf(publishStartDate, -Infinity) ? 'coming' : 'shown';
}

function changed(before: Voucher | undefined, { type, data }: Happened): Voucher | undefined {
  switch (type) {
    case 'VoucherPublished':
    case 'VoucherRevised': {
      const programId = 'programId' in data ? data.programId : before?.programId;
      const phase = phaseAt(data.voucher, Date.parse(data.at));
      return programId === undefined ? undefined : { programId, content: data.voucher, phase };
    }
    case 'VoucherShown':
    case 'VoucherHidden':
      return before && { ...before, phase: type === 'VoucherShown' ? 'shown' : 'over' };
    default:
      return undefined;
  }
}

/** What an event is to those who see vouchers. */
interface Turned {
  readonly programId: number;
  readonly before: Phase | undefined;
  readonly after: Phase | undefined;
}

/** Vouchers as their events make them. */
export class Vouchers {
  readonly all = new Map<string, Voucher>();

  /** Undefined: it is about none. */
  take(event: Happened): Turned | undefined {
    const { stream, type } = event;
    if (!type.startsWith('Voucher')) return undefined;
    const before = this.all.get(stream);
    const after = changed(before, event);
    if (after === undefined) this.all.delete(stream);
    else this.all.set(stream, after);
    return { programId: (after ?? before)?.programId ?? NaN, before: before?.phase, after: after?.phase };
  }
}

/** How late it may be (ms): clocks differ. */
const LATE_MS = 3_600_000;

const turned: Check = {
  promise:
    'A voucher is shown when its time begins and hidden when it is over, once each, and at no other time (V3, N18).',
  left: (world) => {
    const vouchers = new Vouchers();
    for (const event of historyOf(world)) vouchers.take(event);
    const due = EPOCH + world.simulation.now - LATE_MS;
    const late = [...vouchers.all].find(
      ([, { content, phase }]) => PHASES.indexOf(phaseAt(content, due)) > PHASES.indexOf(phase),
    );
    return late && `${late[0]} is still ${late[1].phase}`;
  },
  verify: (world) => {
    for (const [stream, events] of happenedIn(world)) {
      const vouchers = new Vouchers();
      for (const event of events) {
        const content = vouchers.all.get(stream)?.content;
        const { before, after } = vouchers.take(event) ?? {};
        const { type, data } = event;
        if (type !== 'VoucherShown' && type !== 'VoucherHidden') continue;
        const isDue = content !== undefined && after === phaseAt(content, Date.parse(data.at));
        const isUnseen = 'unseen' in data;
        require(isDue && before !== after && isUnseen === (before === 'coming' && after === 'over'), () =>
          `${stream}: ${type} at ${data.at}, though it was ${before ?? 'not there'}`);
      }
    }
  },
};

export const VOUCHERS = [turned] as const;
