import { bytesOf, textOf } from './bytes';
import { type IndexedDocument } from './segment';

/** A document that was a group of its own in a column, and is one of a group with a number from now on. */
interface Joining {
  readonly id: string;
  readonly column: string;
  readonly number: number;
}

/** What a write does in one partition, in this order. */
export interface Change {
  readonly partition: number;
  /** Seldom: it takes as long as merging the segment of the document. Unknown documents, and others, are ignored. */
  readonly joining: readonly Joining[];
  /** Ids of documents to delete; unknown ones are ignored. */
  readonly deleted: readonly string[];
  /** Documents whose ids are distinct, and are in the partition only if they are in `deleted` too. */
  readonly added: readonly IndexedDocument[];
}

/** A change without its numbers and tokens: ids of added documents. */
type Head = readonly [
  partition: number,
  joining: readonly Joining[],
  deleted: readonly string[],
  added: readonly string[],
];

/** Numbers of a document besides those of its columns: its row and the length of its tokens. */
const OTHERS = 2;

/**
 * Changes as bytes: the length of their heads, which are JSON; then for each added document its row, the length of its
 * tokens and its numbers; then all tokens.
 */
export function encodeChanges(changes: readonly Change[]): Uint8Array {
  const heads = bytesOf(
    JSON.stringify(
      changes.map(({ partition, joining, deleted, added }): Head => [
        partition,
        joining,
        deleted,
        added.map(({ id }) => id),
      ]),
    ),
  );
  const documents = changes.flatMap(({ added }) => added);
  const width = OTHERS + (documents[0]?.numbers.length ?? 0);
  const numbers = new Float64Array(documents.length * width);
  let size = 0;
  for (const [at, { row, tokens, numbers: own }] of documents.entries()) {
    numbers[at * width] = row;
    numbers[at * width + 1] = tokens.length;
    for (let column = 0; column < own.length; column += 1)
      numbers[at * width + OTHERS + column] = own[column] ?? NaN;
    size += tokens.length;
  }
  const start = Math.ceil((8 + heads.length) / 8) * 8;
  const bytes = new Uint8Array(start + numbers.byteLength + size);
  new Uint32Array(bytes.buffer, 0, 2).set([heads.length, width]);
  bytes.set(heads, 8);
  bytes.set(new Uint8Array(numbers.buffer), start);
  let end = start + numbers.byteLength;
  for (const { tokens } of documents) {
    bytes.set(tokens, end);
    end += tokens.length;
  }
  return bytes;
}

/** The changes; tokens are views of these bytes, which start at a multiple of eight. */
export function decodeChanges(bytes: Uint8Array): readonly Change[] {
  const { buffer, byteOffset } = bytes;
  const [length = 0, width = 0] = new Uint32Array(buffer, byteOffset, 2);
  const heads = JSON.parse(textOf(bytes.subarray(8, 8 + length))) as readonly Head[];
  const count = heads.reduce((sum, [, , , added]) => sum + added.length, 0);
  const start = Math.ceil((8 + length) / 8) * 8;
  const numbers = new Float64Array(buffer, byteOffset + start, count * width);
  let at = 0;
  let end = start + numbers.byteLength;
  return heads.map(([partition, joining, deleted, ids]): Change => {
    const added = ids.map((id): IndexedDocument => {
      const own = numbers.subarray(at, at + width);
      at += width;
      const from = end;
      end += own[1] ?? 0;
      return { id, row: own[0] ?? 0, tokens: bytes.subarray(from, end), numbers: own.subarray(OTHERS) };
    });
    return { partition, joining, deleted, added };
  });
}
