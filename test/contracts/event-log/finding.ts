import { NO_STREAM } from '../../../src/kernel/event';
import { gather, newCategory, newEvents, type Subject } from './events';

export function finding({ log }: Subject): void {
  let category: string;
  beforeEach(() => {
    category = newCategory();
  });

  test.each([
    ['U+0301', '\u0301'],
    ['U+0338', '\u0338'],
    ['U+20DD', '\u20dd'],
    ['U+3099', '\u3099'],
  ])('by a prefix code point by code point, even if the combining mark %s follows', async (_, mark) => {
    const prefixes = [`${category}-`];
    const after = await log().head();
    await log().append(`${category}-${mark}x`, NO_STREAM, newEvents(1));
    await log().append(`${category}${mark}-x`, NO_STREAM, newEvents(1));
    const live = gather(log().subscribe({ after, prefixes }), ({ length }) => length >= 2);
    await log().append(`${category}-${mark}y`, NO_STREAM, newEvents(1));

    const streams = (await live).events.map(({ stream }) => stream);
    expect(streams).toEqual([`${category}-${mark}x`, `${category}-${mark}y`]);
    expect((await gather(log().readAll({ after, prefixes }))).events).toHaveLength(2);
  });

  test.each([
    'a.b-',
    'a+b-',
    'a(b-',
    'a[b-',
    'a\\b-',
    'a|b-',
    'a{2}-',
    'a*-',
    'a^$-',
    'a?b-',
    'a#b -',
    'ä😀-',
  ])('by the prefix %s, literally', async (word) => {
    const after = await log().head();
    await log().append(`${category}aab2-1`, NO_STREAM, newEvents(1));
    await log().append(`${category}${word}1`, NO_STREAM, newEvents(1));

    const found = await gather(log().readAll({ after, prefixes: [category + word] }));
    expect(found.events.map(({ stream }) => stream)).toEqual([`${category}${word}1`]);
  });
}
