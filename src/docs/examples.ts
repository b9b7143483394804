/** A request as examples show it. Its token is in the environment variable `TOKEN`. */
export interface ExampleRequest {
  readonly method: string;
  /** Percent-encoded: without quotes, spaces and `$`. */
  readonly url: string;
  /** A JSON body. */
  readonly body?: unknown;
  /** Otherwise the answer is a text, or empty. */
  readonly isJson: boolean;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** The languages that examples are in, and how each writes a request. */
export const LANGUAGES: Readonly<Record<string, (request: ExampleRequest) => string>> = {
  curl: ({ method, url, body }) =>
    [
      `curl -sS${method === 'GET' ? '' : ` -X ${method}`} "${url}"`,
      '-H "Authorization: Bearer $TOKEN"',
      ...(body === undefined
        ? []
        : [`-H 'Content-Type: ${JSON_TYPE}'`, `-d '${indented(body).replaceAll("'", `'\\''`)}'`]),
    ].join(' \\\n  '),

  TypeScript: ({ method, url, body, isJson }) => `const answer = await fetch('${url}', {
  method: '${method}',
  headers: {
    Authorization: \`Bearer \${process.env.TOKEN}\`,${body === undefined ? '' : `\n    'Content-Type': '${JSON_TYPE}',`}
  },${body === undefined ? '' : `\n  body: JSON.stringify(${indented(body, '  ')}),`}
});
if (!answer.ok) throw new Error(\`\${answer.status} \${await answer.text()}\`);
console.log(await answer.${isJson ? 'json' : 'text'}());`,

  Python: ({ method, url, body, isJson }) => `import ${isJson || body !== undefined ? 'json, os' : 'os'}
from urllib.request import Request, urlopen

request = Request(
    "${url}",
    method="${method}",
    headers={
        "Authorization": f"Bearer {os.environ['TOKEN']}",${body === undefined ? '' : `\n        "Content-Type": "${JSON_TYPE}",`}
    },${body === undefined ? '' : `\n    data=json.dumps(${literal(body, PYTHON, '    ')}).encode(),`}
)
with urlopen(request) as answer:
    print(${isJson ? 'json.load(answer)' : 'answer.read().decode()'})`,

  PHP: ({ method, url, body, isJson }) => `<?php
$request = curl_init('${url}');
curl_setopt_array($request, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_CUSTOMREQUEST => '${method}',
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('TOKEN'),${body === undefined ? '' : `\n        'Content-Type: ${JSON_TYPE}',`}
    ],${body === undefined ? '' : `\n    CURLOPT_POSTFIELDS => json_encode(${literal(body, PHP, '    ')}),`}
]);
$answer = curl_exec($request);
$status = curl_getinfo($request, CURLINFO_RESPONSE_CODE);
if ($answer === false || $status >= 400) throw new RuntimeException("$status $answer");
${isJson ? 'print_r(json_decode($answer, true))' : 'echo $answer'};`,
};

function indented(value: unknown, indent = ''): string {
  return JSON.stringify(value, undefined, 2).replaceAll('\n', `\n${indent}`);
}

/** How a language writes values. */
interface Notation {
  readonly list: readonly [string, string];
  readonly object: readonly [string, string];
  readonly emptyObject: string;
  readonly arrow: string;
  readonly words: Readonly<Record<'true' | 'false' | 'null', string>>;
  readonly text: (text: string) => string;
}

const PYTHON: Notation = {
  list: ['[', ']'],
  object: ['{', '}'],
  emptyObject: '{}',
  arrow: ': ',
  words: { true: 'True', false: 'False', null: 'None' },
  text: (text) => JSON.stringify(text),
};

const PHP: Notation = {
  list: ['[', ']'],
  object: ['[', ']'],
  emptyObject: 'new stdClass()',
  arrow: ' => ',
  words: { true: 'true', false: 'false', null: 'null' },
  text: (text) => `'${text.replace(/[\\']/g, '\\$&')}'`,
};

/** A JSON value in a language. */
function literal(value: unknown, notation: Notation, indent: string): string {
  const { list, object, emptyObject, arrow, words, text } = notation;
  if (typeof value === 'string') return text(value);
  if (typeof value === 'boolean') return words[`${value}`];
  if (typeof value !== 'object' || value === null) return value === null ? words.null : JSON.stringify(value);
  const deeper = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((one) => literal(one, notation, deeper))
    : Object.entries(value).map(([name, one]) => `${text(name)}${arrow}${literal(one, notation, deeper)}`);
  const [open, close] = Array.isArray(value) ? list : object;
  if (lines.length === 0) return Array.isArray(value) ? open + close : emptyObject;
  return `${open}\n${lines.map((line) => `${deeper}${line},\n`).join('')}${indent}${close}`;
}
