import { hash } from 'node:crypto';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** The minimum work to read the products of a body: cut it into elements, `JSON.parse` and SHA-256 of each. */
export function readAndHash(body: Buffer): void {
  for (const element of jsonElements(body)) {
    JSON.parse(element.toString());
    hash('sha256', element, 'hex');
  }
}

/** The objects of the list in `{"products":[…]}` as bytes: only finds their ends. */
function* jsonElements(body: Buffer): Generator<Buffer> {
  let depth = 0;
  let start = 0;
  for (let at = body.indexOf('[') + 1; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) {
      at = endOfString(body, at + 1);
    } else if (byte === OPEN) {
      if (depth === 0) start = at;
      depth += 1;
    } else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) yield body.subarray(start, at + 1);
    }
  }
}

/** End of the string that starts at `from`: a quote after an even number of backslashes. */
function endOfString(body: Buffer, from: number): number {
  for (let end = body.indexOf(QUOTE, from); ; end = body.indexOf(QUOTE, end + 1)) {
    if (end < 0) return body.length;
    let before = end;
    while (body[before - 1] === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
}
