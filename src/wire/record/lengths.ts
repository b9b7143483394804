import { only, type Scalar } from './record';

/** Texts of a kind with at most so many characters, which are counted as JSON Schema does: by code points. */
export function atMost<Answered>(most: number, kind: Scalar<string, Answered>): Scalar<string, Answered> {
  const expected = `at most ${most} characters`;
  const isMet = (value: string): boolean => value.length <= most || Array.from(value).length <= most;
  const { posted, answered } = only(kind, isMet, expected);
  const json = { ...posted.json, maxLength: most };
  return { is: 'scalar', posted: { ...posted, json, note: ` (${expected})` }, answered };
}
