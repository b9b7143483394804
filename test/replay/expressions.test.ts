import { expressionOf } from '../../src/replay/read-options';

// Regular expressions are those of .NET, which the real server has.

test.each<[expression: string, matching: readonly string[], others: readonly string[]]>([
  ['^feed-', ['feed-1'], ['a feed-1']],
  ['-1$', ['feed-1', 'feed-1\n'], ['feed-12']],
  ['\\Afeed', ['feed-1'], ['a feed-1', 'a\nfeed']],
  ['1\\z', ['feed-1'], ['feed-1\n', 'feed-12']],
  ['1\\Z', ['feed-1', 'feed-1\n'], ['feed-12']],
  ['(?i)FEED', ['feed-1', 'Feed-1'], ['fed']],
  ['(?im)^É$', ['a\né\nb'], ['aé']],
  ['(?s)a.b', ['a\nb'], ['ab']],
  ['a.b', ['a\rb', 'axb'], ['a\nb']],
  ['^\\p{L}+$', ['fête', 'Ж'], ['p{L}', 'a1']],
  ['^\\P{L}+$', ['123'], ['a']],
  ['^[\\p{Lu}\\d]+$', ['AÉ٣'], ['a']],
  ['^\\w+$', ['été_1'], ['a-b']],
  ['^\\W$', ['-'], ['é']],
  ['\\bété\\b', ['un été-2'], ['étés']],
  ['a\\Bb', ['xabx'], ['a b']],
  ['\\d', ['٣'], ['a']],
  ['^[^$].*', ['feed-1'], ['$ce-feed']],
  ['^(?:feed|voucher)-(?!1$)', ['feed-12'], ['feed-1']],
  ['(?<=feed-)(?<n>\\d)\\k<n>', ['feed-11'], ['feed-12']],
  ['feed\\-1', ['feed-1'], ['feed1']],
  ['a\\ b\\#c', ['a b#c'], ['ab#c']],
  ['x]{a}', ['x]{a}'], ['x']],
  ['[]a]', [']', 'a'], ['[']],
  ['[\\-\\]\\[]', ['-', ']', '['], ['\\']],
  ['a{2,}b{1}', ['aab'], ['ab']],
  ['\\u0066eed\\x2d', ['feed-'], ['feed']],
  ['caf\\u00e9\\t\\e\\a', ['café\t\x1b\x07'], ['café']],
])('%j is translated', (expression, matching, others) => {
  const regex = expressionOf(expression);

  for (const name of matching) expect([name, regex.test(name)]).toEqual([name, true]);
  for (const name of others) expect([name, regex.test(name)]).toEqual([name, false]);
});

test.each([
  '(?<',
  '(',
  '[a',
  '\\',
  'a**',
  '\\p{IsGreek}',
  '\\p{Foo}',
  '(?>a)',
  '(?#a)b',
  '(?n)(a)',
  '(?x)a b',
  'a(?i)b',
  "(?'name'a)",
  '(?(1)a|b)',
  '[a-z-[aeiou]]',
  '[\\W]',
  '\\G',
  '\\1',
  '\\012',
  '\\_',
  'x'.repeat(1_001),
])('%j is refused, rather than given another meaning', (expression) => {
  expect(() => expressionOf(expression)).toThrow(/^The regular expression/);
});
