import { type FaultTable } from '../../kernel/fault';
import { type Description, type Shape } from './description';
import { type Format, mediaTypeFor } from './format';
import { httpFaultTable, openApiFaultTable } from './http-faults';

type Json = Readonly<Record<string, unknown>>;

type Service = Pick<Description, 'faults' | 'errorSchema'>;

/** The error list of all services, as a shape. */
const ERRORS = { name: 'ErrorList' };

/**
 * The error responses of an operation by their statuses: those of the codes of its service and of tokens, and `default` for
 * the errors of HTTP itself and of the server. Not all generators know ranges such as `4XX` (`docs/decisions.md#x36`).
 */
export function errorsOf(
  service: Service,
  { method, mayConflict = false }: { readonly method: string; readonly mayConflict?: boolean },
  isJson: boolean,
): Json {
  const never = method === 'GET' ? OF_WRITES.filter((status) => !(mayConflict && status === CONFLICT)) : [];
  const listed = statusesOf(service).filter((status) => !never.includes(status));
  const named = ['default' as const, ...listed].map((status) => [
    status,
    { $ref: `#/components/responses/${errorsName(service, status, isJson)}` },
  ]);
  return Object.fromEntries(named) as Json;
}

/** A conflict, and a body that is too large or of another type. */
const CONFLICT = 409;
const OF_WRITES: readonly number[] = [CONFLICT, 413, 415];

type Status = number | 'default';

/** Whoever sends no token, or not the right one, gets the first two. */
const ALWAYS = [400, 403];

/** Of methods that no operation has. */
const UNDESCRIBED = 405;

function statusesOf({ faults }: Service): readonly number[] {
  const own = Object.values(faults).map(([, status]) => status);
  const refusals = [...ALWAYS, ...own].filter((status) => status < 500 && status !== UNDESCRIBED);
  return [...new Set(refusals)].sort((a, b) => a - b);
}

/** The name of a service's error response; operations with other formats than JSON have one that may be XML. */
function errorsName({ errorSchema }: Service, status: Status, isJson: boolean): string {
  const [service = ''] = errorSchema.split('_');
  return `${service}${status === 'default' ? 'Other' : status}${isJson ? '' : 'As'}`;
}

/** The error responses of a service, which its operations share, by their names: of those with JSON, or with other formats. */
export function errorResponses(service: Service, views: readonly { readonly isJson: boolean }[]): Json {
  const kinds = new Set(views.map(({ isJson }) => isJson));
  const responses = [...statusesOf(service), 'default' as const].flatMap((status) =>
    [...kinds].map((isJson) => [errorsName(service, status, isJson), errorResponse(service, status, isJson)]),
  );
  return Object.fromEntries(responses) as Json;
}

function errorResponse(service: Service, wanted: Status, isJson: boolean): Json {
  const { faults, errorSchema } = service;
  const tables: readonly FaultTable[] = [openApiFaultTable, faults, httpFaultTable];
  const listed = statusesOf(service);
  const rows = tables
    .flatMap((table) => Object.values(table))
    .filter(([, status]) => (wanted === 'default' ? !listed.includes(status) : status === wanted));
  const codes = rows.map(
    ([code, status, meaning]) => `- \`${code}\`${wanted === 'default' ? ` (${status})` : ''}: ${meaning}`,
  );
  const formats: readonly Format[] = isJson ? ['json'] : ['json', 'xml'];
  const list = { ...ERRORS, xml: { file: errorSchema } };
  const summary =
    wanted === 'default'
      ? 'An error of HTTP, or of the server, which it is harmless to repeat. The answer is an error list. Its codes, with their status:'
      : 'The request was refused, or a part of it. The answer is an error list. Its codes:';
  return {
    description: `${summary}\n\n${codes.join('\n')}`,
    headers: headers(wanted === 'default' ? OTHER_HEADERS : REFUSAL_HEADERS),
    content: Object.fromEntries(
      formats.map((format) => [mediaTypeFor(format), { schema: shapeIn(format, list) }]),
    ),
  };
}

const REFUSAL_HEADERS = { 'X-Log-Position': 'Of a partly refused post: position of the write in the log' };
const OTHER_HEADERS = {
  Allow: 'Of 405: allowed methods',
  'Retry-After': 'Of 429 and 503: seconds to wait before repeating the request',
};

/** A shape as the schema of a format: JSON has one of its own, the others are texts. */
export function shapeIn(format: Format, { name, xml }: Pick<Shape, 'name' | 'xml'>): Json {
  if (format === 'json') return { $ref: `#/components/schemas/${name}` };
  if (format !== 'xml' || xml === undefined) return { type: 'string' };
  return { type: 'string', description: `A document as described by /1.0/schemas/${xml.file}` };
}

/** Response headers, by their descriptions. */
export function headers(described: Readonly<Record<string, string>>): Json {
  return Object.fromEntries(
    Object.entries(described).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  );
}
