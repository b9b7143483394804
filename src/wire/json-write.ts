/** A JSON text; `pretty` adds line breaks (Document 1, Conventions 6). */
export function writeJson(value: unknown, options: { readonly pretty?: boolean } = {}): string {
  return JSON.stringify(value, null, options.pretty === true ? 2 : undefined);
}
