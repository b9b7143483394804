import { type Program } from '../directory/programs';

/** What a publisher earns by an event's terms: hundredths, like the order value. */
export function commissionOf({ commission }: Program['events'][number], orderValue: number): number {
  if (commission === undefined) return 0;
  return 'fixed' in commission ? commission.fixed : Math.round((orderValue * commission.percent) / 100);
}
