import { isCurrency, isLanguage } from './iso-codes';
import { type KeyType } from './key-types';

/** ISO 4217 in capital letters, in whatever case it was sent (`docs/decisions.md#a2`). */
export const CURRENCY: KeyType<string> = {
  expected: 'an ISO 4217 code such as EUR',
  problem: 'notCurrency',
  read: (text) => {
    const code = text.trim().toUpperCase();
    return isCurrency(code) ? code : undefined;
  },
};

/** ISO 639-1 in small letters, in whatever case it was sent. */
export const LANGUAGE: KeyType<string> = {
  expected: 'an ISO 639-1 code such as de',
  problem: 'unusable',
  read: (text) => {
    const code = text.trim().toLowerCase();
    return isLanguage(code) ? code : undefined;
  },
};
