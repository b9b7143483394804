import { type ReadReq } from '@eventstore/db-client/generated/streams_pb';

/**
 * Makes a filter by prefixes one by a regular expression that finds what .NET finds when it compares text by the rules
 * of a language: a prefix does not match where a combining mark follows, which makes its last character another.
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
