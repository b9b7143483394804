import { type RequestTarget, type SentKey } from '../wire/keys/request-target';

/** Characters of a target that are logged. */
const MAX_LENGTH = 500;

/** A request target as it is logged: without its token (`docs/decisions.md#x86`). */
export function loggedTarget({ path, extension, matrix, query }: RequestTarget): string {
  const keys = withoutToken(matrix).map(({ name, sent }) => `;${name}=${sent}`);
  const parameters = withoutToken(query).map(({ name, sent }) => `${name}=${sent}`);
  const target = [
    path,
    ...(extension === undefined ? [] : ['.', extension]),
    ...keys,
    ...(parameters.length === 0 ? [] : ['?', parameters.join('&')]),
  ].join('');
  return target.length <= MAX_LENGTH ? target : `${target.slice(0, MAX_LENGTH)}…`;
}

/** A token among the matrix keys is a mistake of the client, but no less a token. */
function withoutToken(keys: readonly SentKey[]): readonly SentKey[] {
  return keys.filter(({ name }) => name !== 'token');
}
