import { type DemoLanguage } from './words';

/** A demo feed and its advertiser's conventions. */
export interface DemoFeed {
  readonly id: number;
  readonly programId: number;
  readonly name: string;
  readonly language: DemoLanguage;
  readonly host: string;
  readonly imageHost: string;
  /** Prefix of each `sourceProductId`. */
  readonly prefix: string;
  /** Exchange rate: one euro in the feed's currency. */
  readonly rate: number;
  /** How its products are mapped (`docs/decisions.md#p13`). */
  readonly maps: 'by mapping' | 'by category id' | 'by category name';
  /** Platform categories that the feed leaves unmapped, so publishers do not see their products. */
  readonly unmapped: readonly string[];
}

export const FEEDS: readonly DemoFeed[] = [
  {
    id: 1001,
    programId: 101,
    name: 'Lindner Deutschland',
    language: 'de',
    host: 'www.lindner.example',
    imageHost: 'img.lindner.example',
    prefix: 'KL-',
    rate: 1,
    maps: 'by mapping',
    unmapped: ['113', '322'],
  },
  {
    id: 1002,
    programId: 102,
    name: 'Lindner UK',
    language: 'en',
    host: 'uk.lindner.example',
    imageHost: 'img.lindner.example',
    prefix: 'KL-',
    rate: 0.86,
    maps: 'by mapping',
    unmapped: ['422'],
  },
  {
    id: 2001,
    programId: 201,
    name: 'Harbour & Pine',
    language: 'en',
    host: 'www.harbourpine.example',
    imageHost: 'img.harbourpine.example',
    prefix: 'hp_',
    rate: 0.86,
    maps: 'by category id',
    unmapped: ['431'],
  },
  {
    id: 2002,
    programId: 202,
    name: 'Harbour & Pine Deutschland',
    language: 'de',
    host: 'de.harbourpine.example',
    imageHost: 'img.harbourpine.example',
    prefix: 'hp_de_',
    rate: 1,
    maps: 'by category name',
    unmapped: ['213'],
  },
];
