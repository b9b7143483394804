import { type ReadReq } from '@eventstore/db-client/generated/streams_pb';

/**
 * Converts a filter by prefixes to a regular expression with the matches of .NET's culture-sensitive comparison: a
 * prefix followed by a combining mark does not match, since the mark changes its last character.
 */
export function likeDotNet(expression: ReadReq.Options.FilterOptions.Expression | undefined): void {
  const prefixes = expression?.getPrefixList() ?? [];
  if (expression === undefined || expression.getRegex() !== '' || prefixes.length === 0) return;
  const alternatives = prefixes.map((prefix) =>
    prefix === '' ? '' : `${escaped(prefix)}(?![\\p{Mn}\\p{Me}])`,
  );
  expression.setRegex(`^(?:${alternatives.join('|')})`).clearPrefixList();
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
