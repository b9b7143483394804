import { type ConsolePage } from './content';
import * as catalogue from './pages/catalogue';
import * as log from './pages/log';
import * as notifications from './pages/notifications';
import * as system from './pages/system';

const { feeds, sources, products, vouchers, why, transactions, claims, loads, load, mappings, claim } =
  catalogue;
const { messages, receivers, subscriptions, message } = notifications;
const { overview, readModels, parked, pasts, tokens, actions, readModel, backups, backup } = system;

/** The pages of the menu, by groups. */
export const MENU: Readonly<Record<string, readonly ConsolePage[]>> = {
  System: [overview, readModels, parked, log.log, log.history, backups],
  Catalogue: [feeds, sources, products, vouchers, why],
  Orders: [transactions, claims],
  Notifications: [messages, receivers, subscriptions],
  Analysis: [log.sql, pasts],
  Access: [tokens, actions],
};

/** All pages: those that are not in the menu are linked to. */
export const PAGES: readonly ConsolePage[] = [
  ...Object.values(MENU).flat(),
  ...[readModel, backup, log.event, log.document, log.find, loads, load, mappings, claim, message],
];
