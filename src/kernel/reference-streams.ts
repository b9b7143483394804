/**
 * Prefixes of the streams that processes and commands fold from the start of the log: the directory, subscriptions,
 * exchange rates, and whose deliveries a log has. An engine finds their events without reading the rest of the log.
 */
export const REFERENCE_STREAMS: readonly string[] = [
  'organisation-',
  'program-',
  'site-',
  'feedinfo-',
  'category-',
  'mapping-',
  'subscription-',
  'exchange-rates',
  'deliveries-owner',
];
