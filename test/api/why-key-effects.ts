import { type Visibility } from '../../src/network/visibility';
import { type Response } from '../support/app';
import { type Effect } from './key-effects';
import { FEEDS } from './network';

const visible = (answer: Response): unknown => answer.json<Partial<Visibility>>().visible;
const lines = (answer: Response): unknown => answer.json<{ lines?: string[] }>().lines?.length;
const lamp = `;fid=${FEEDS.german};spId=lamp`;

/** What each key of these operations does (`test/api/keys.test.ts`). Voucher 4 is for site 1202. */
export const WHY_EFFECTS: readonly Effect[] = [
  ['whyProduct', `fid=${FEEDS.german}`, ';spId=lamp', visible, true],
  ['whyProduct', 'spId=none', `;fid=${FEEDS.german}`, visible, false],
  ['whyProduct', 'publisher=13', lamp, visible, false],
  ['whyProduct', 'siteId=1102', lamp, visible, false],
  ['whyVoucher', 'id=4', '', visible, true],
  ['whyVoucher', 'publisher=11', ';id=4', visible, false],
  ['whyVoucher', 'siteId=1203', ';id=4', visible, false],
  ['whyDelivery', 'id=1', '', (answer) => (lines(answer) as number) > 2, true],
  ['whyDelivery', 'subscriptionId=none', ';id=1', (answer) => answer.body.includes('organisation 1:'), false],
];
