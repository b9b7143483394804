/** Languages of the demo feeds. */
export type DemoLanguage = 'en' | 'de';

/** A text in both languages. */
export type Words = readonly [en: string, de: string];

export function inLanguage(words: Words, language: DemoLanguage): string {
  return language === 'en' ? words[0] : words[1];
}
