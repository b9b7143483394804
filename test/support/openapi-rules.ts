/** Rules that keep the description usable by generators of clients that do not run here (`docs/decisions.md#x36`). */

type Json = Readonly<Record<string, unknown>>;

interface Node {
  readonly at: string;
  readonly value: Json;
}

/** Returns where a description breaks the rule. */
export type Rule = (document: Json) => readonly string[];

/** By what they require. */
export const RULES: Readonly<Record<string, Rule>> = {
  'integers have 64 bits, and numbers double precision': everySchema(({ type, format }) =>
    type === 'integer' ? format === 'int64' : type !== 'number' || format === 'double',
  ),
  'a value has one type': everySchema(
    ({ type, $ref, anyOf, oneOf, allOf }) =>
      anyOf === undefined &&
      oneOf === undefined &&
      allOf === undefined &&
      (isTypeOrNull(type) ? $ref === undefined : typeof $ref === 'string'),
  ),
  'each object has a name': (document) =>
    nodesIn(document)
      .filter(
        ({ at, value }) =>
          value.properties !== undefined && !/^\/components\/schemas\/\w+$|^\/webhooks\//.test(at),
      )
      .map(({ at }) => at),
  'a list is repeated keys': everyParameter(
    ({ schema, explode, style }) =>
      (schema as Json | undefined)?.type !== 'array' ||
      (explode !== false && (style === undefined || style === 'form')),
  ),
  'errors have statuses and a default, no ranges': (document) =>
    operationsIn(document).flatMap(({ at, value }) => {
      const statuses = Object.keys(value.responses ?? {});
      const unusable = statuses.filter((status) => !/^(\d{3}|default)$/.test(status));
      return statuses.includes('default') && unusable.length === 0 ? [] : [at];
    }),
  'the address of the licence is absolute': ({ info }) => {
    const { url } = ((info as Json | undefined)?.license ?? {}) as Json;
    return URL.canParse(String(url)) ? [] : ['/info/license/url'];
  },
  'names do not collide with those that generators derive': (document) => {
    const names = Object.keys(schemasOf(document));
    const derived = names.flatMap((name) => DERIVED.map((ending) => `${name}${ending}`.toLowerCase()));
    const alike = names.map((name) => name.toLowerCase());
    return names.filter(
      (name, at) => derived.includes(name.toLowerCase()) || alike.indexOf(name.toLowerCase()) !== at,
    );
  },
  'only operations for operators name operators alone, and reading transactions is for all': (document) =>
    operationsIn(document)
      .filter(({ at, value }) => {
        const callers = /For tokens of ([^,]*), system/.exec(String(value.description))?.[1] ?? '';
        const isOps = at.startsWith('/paths/~1ops~1');
        const isReadOfTransactions = /~1conversions~1transactions.*\/get$/.test(at);
        if (callers === '' || isOps !== (callers === 'operators')) return true;
        return isReadOfTransactions && !callers.includes('operators');
      })
      .map(({ at }) => at),
};

/** Tests of models, their lists, requests, and other views of them. */
const DERIVED = ['Test', 'Tests', 'Api', 'Dto', 'Params', 'Response', 'RequestBody'];

function isTypeOrNull(type: unknown): boolean {
  const types = Array.isArray(type) ? type.filter((one) => one !== 'null') : [type];
  return types.length === 1 && typeof types[0] === 'string';
}

function everySchema(isMet: (schema: Json) => boolean): Rule {
  return (document) =>
    schemaNodes(document)
      .filter(({ value }) => !isMet(value))
      .map(({ at }) => at);
}

function everyParameter(isMet: (parameter: Json) => boolean): Rule {
  return (document) =>
    nodesIn(document)
      .filter(({ value }) => typeof value.in === 'string' && value.schema !== undefined && !isMet(value))
      .map(({ at }) => at);
}

function schemasOf({ components }: Json): Json {
  return ((components as Json | undefined)?.schemas ?? {}) as Json;
}

function operationsIn(document: Json): readonly Node[] {
  return nodesIn(document).filter(({ at }) => /^\/paths\/[^/]+\/(get|put|post|delete)$/.test(at));
}

/** Components, properties, items, and the schemas of parameters, bodies and answers. */
function schemaNodes(document: Json): readonly Node[] {
  const places = /(\/schema|\/items|\/properties\/[^/]+|^\/components\/schemas\/[^/]+)$/;
  const inPattern = /\/properties$/;
  return nodesIn(document).filter(({ at }) => places.test(at) && !inPattern.test(at));
}

/** Every object below, with its JSON pointer; examples are no part of the description. */
function nodesIn(value: unknown, at = ''): readonly Node[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value)
    .filter(([name]) => name !== 'example')
    .flatMap(([name, one]) => nodesIn(one, `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`));
  return Array.isArray(value) ? below : [{ at, value: value as Json }, ...below];
}
