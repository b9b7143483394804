import { LANGUAGES } from '../../src/docs/examples';
import { markdown } from '../../src/docs/markdown';

const shown = (text: string): string =>
  markdown(text, (target) => (target.startsWith('#') ? target : undefined)).text.replaceAll(/\n/g, ' ');

describe('the Markdown of the documentation (decisions X82)', () => {
  it.each([
    [
      'a heading, with the id that GitHub gives it',
      '## What `is` promised',
      '<h2 id="what-is-promised">What <code>is</code> promised</h2>',
    ],
    ['a paragraph of two lines', 'one\ntwo', '<p>one two</p>'],
    [
      'what would be HTML',
      '<b onclick="x">&amp;</b>',
      '<p>&#60;b onclick=&#34;x&#34;&#62;&#38;amp;&#60;/b&#62;</p>',
    ],
    ['HTML in code', '`<td>`', '<p><code>&#60;td&#62;</code></p>'],
    ['an anchor', '<a id="x1"></a>**X1. A.**', '<p><a id="x1"></a><strong>X1. A.</strong></p>'],
    ['a link that leads somewhere', '[`A`](#a)', '<p><a href="#a"><code>A</code></a></p>'],
    ['a link that leads nowhere', '[A](src/a.ts)', '<p>A</p>'],
    ['emphasis, and names with underscores', '_so_ PF_240 a_b_c', '<p><em>so</em> PF_240 a_b_c</p>'],
    ['a list within a list', '- a\n  b\n  - c\n- d', '<ul><li>a b<ul><li>c</li> </ul></li> <li>d</li> </ul>'],
    ['a numbered list, and what follows it', '1. a\n2. b\n\nc', '<ol><li>a</li> <li>b</li> </ol> <p>c</p>'],
    ['code', '```sh\n<a>\n\n- b\n```\nc', '<pre tabindex="0">&#60;a&#62;  - b</pre> <p>c</p>'],
  ])('has %s', (_, text, html) => expect(shown(text)).toBe(html));

  it('has tables, with bars in cells', () => {
    const table = shown('| A | B |\n| - | - |\n| 1 | `a\\|b` |');
    expect(table).toContain('<th scope="col">A</th><th scope="col">B</th>');
    expect(table).toContain('<td>1</td><td><code>a|b</code></td>');
  });
});

it('examples quote what a body has, in each language (decisions X82)', () => {
  const body = { text: `it's "\\$a" ü`, list: [true, null, 1.5], none: [], empty: {} };
  const request = { method: 'POST', url: 'http://a.example/1', body, isJson: true };
  expect(LANGUAGES.curl?.(request)).toContain(`"it'\\''s \\"\\\\$a\\" ü"`);
  expect(LANGUAGES.Python?.(request)).toContain(
    `"list": [\n            True,\n            None,\n            1.5,\n        ],`,
  );
  expect(LANGUAGES.Python?.(request)).toContain(`"text": "it's \\"\\\\$a\\" ü",`);
  expect(LANGUAGES.PHP?.(request)).toContain(`'text' => 'it\\'s "\\\\$a" ü',`);
  expect(LANGUAGES.PHP?.(request)).toContain("'none' => [],\n        'empty' => new stdClass(),");
});
