import { type FaultTable } from '../kernel/fault';
import { type Description, type Shape } from './description';
import { CONTENT_TYPES, type Format } from './format';
import { httpFaultTable, openApiFaultTable } from './http-faults';

type Json = Readonly<Record<string, unknown>>;

/** Which errors: those of a request, or those of the server. */
export type Statuses = '4XX' | '5XX';

type Service = Pick<Description, 'faults' | 'errorSchema'>;

/** The error list of all services, as a shape. */
export const ERRORS = { name: 'ErrorList' };

/** The name of a service's error response; operations with other formats than JSON have one that may be XML. */
export function errorsName(
  { errorSchema }: Pick<Service, 'errorSchema'>,
  statuses: Statuses,
  isJson: boolean,
): string {
  const [service = ''] = errorSchema.split('_');
  return `${service}${statuses}${isJson ? '' : 'As'}`;
}

/** The error responses of a service, which its operations share, by their names: of those with JSON, or with other formats. */
export function errorResponses(service: Service, views: readonly { readonly isJson: boolean }[]): Json {
  const kinds = new Set(views.map(({ isJson }) => isJson));
  const responses = (['4XX', '5XX'] as const).flatMap((statuses) =>
    [...kinds].map((isJson) => [
      errorsName(service, statuses, isJson),
      errorResponse(service, statuses, isJson),
    ]),
  );
  return Object.fromEntries(responses) as Json;
}

function errorResponse({ faults, errorSchema }: Service, statuses: Statuses, isJson: boolean): Json {
  const tables: readonly FaultTable[] = [openApiFaultTable, faults, httpFaultTable];
  const rows = tables.flatMap((table) => Object.values(table));
  const codes = rows
    .filter(([, status]) => String(status).startsWith(statuses.charAt(0)))
    .map(([code, status, meaning]) => `- \`${code}\` (${status}): ${meaning}`);
  const formats: readonly Format[] = isJson ? ['json'] : ['json', 'xml'];
  const list = { ...ERRORS, xml: { file: errorSchema } };
  return {
    description: `${MEANINGS[statuses]} The answer is an error list. Its codes, with their status:\n\n${codes.join('\n')}`,
    headers: headers(HEADERS[statuses]),
    content: Object.fromEntries(
      formats.map((format) => [CONTENT_TYPES[format], { schema: shapeIn(format, list) }]),
    ),
  };
}

const MEANINGS: Readonly<Record<Statuses, string>> = {
  '4XX': 'The request was refused, or a part of it.',
  '5XX': 'The server is unavailable or has failed: repeating the request is harmless.',
};

const HEADERS: Readonly<Record<Statuses, Readonly<Record<string, string>>>> = {
  '4XX': {
    Allow: 'Of 405: allowed methods',
    'Retry-After': 'Of 429: seconds to wait',
    'X-Log-Position': 'Of a partly refused post: position of the write in the log',
  },
  '5XX': { 'Retry-After': 'Seconds to wait before repeating the request' },
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
