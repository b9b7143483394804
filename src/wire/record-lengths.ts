import { only, type Scalar } from './record';

/** Texts of a kind with at most so many characters; one beyond U+FFFF counts as two. */
export function atMost<Answered>(most: number, kind: Scalar<string, Answered>): Scalar<string, Answered> {
  const expected = `at most ${most} characters`;
  const { posted, answered } = only(kind, ({ length }) => length <= most, expected);
  const json = { ...posted.json, maxLength: most };
  return { is: 'scalar', posted: { ...posted, json, note: ` (${expected})` }, answered };
}
