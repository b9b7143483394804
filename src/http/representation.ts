import { type FastifyRequest } from 'fastify';
import { type Fault, Faults } from '../kernel/fault';
import { API_VERSION, errorsAsJson, errorsAsXml, httpFaults } from '../wire/api/errors';
import { chooseFormat, CONTENT_TYPES, type Format } from '../wire/api/format';
import { isJsonpName, type JsonpCall, jsonPieces, jsonpPieces } from '../wire/json/write';
import { BOOLEAN, readKeys, TEXT } from '../wire/keys/keys';
import { type XmlElement, xmlPieces } from '../wire/xml/write';
import { type Service } from './service';

export interface Representation {
  readonly format: Format;
  readonly pretty: boolean;
  /** Name of the function that is called with the result. */
  readonly jsonp: string | undefined;
}

/** Keys of all operations that change how an answer is written; the latter are no matrix keys. */
const ANYWHERE = { pretty: { type: BOOLEAN } } as const;
const IN_QUERY = { jsonp: { type: TEXT } } as const;

/** The representation that a request asks for. Raises faults of HTTP and of the service. */
export function representationOf(
  request: FastifyRequest,
  service: Service,
  offered: readonly Format[],
): Representation {
  const { target } = request;
  const format = formatOf(request, service, offered);
  const { pretty = false } = readKeys(ANYWHERE, target, service.keyFaults);
  const { jsonp } = readKeys(IN_QUERY, { ...target, matrix: [] }, service.keyFaults);
  const view = { format, pretty, jsonp };
  checkJsonp(view, service);
  return view;
}

/** Raises a fault if `jsonp` names no function, or the answer is not JSON (`docs/decisions.md#a5`, `#p27`). */
export function checkJsonp({ format, jsonp }: Representation, { keyFaults }: Service): void {
  if (jsonp === undefined) return;
  const name = 'a dotted JavaScript identifier of at most 128 characters';
  if (!isJsonpName(jsonp)) throw keyFaults.unusable(`jsonp=${jsonp}: expected ${name}`);
  if (format !== 'json')
    throw keyFaults.unusable(`jsonp=${jsonp}: allowed for JSON only, the format is ${format}`);
}

/** Values of the key `format`, and the format of a failure: for CSV it is JSON. */
const NAMED_FORMATS: ReadonlyMap<string | undefined, Format> = new Map([
  ['json', 'json'],
  ['xml', 'xml'],
  ['csv', 'json'],
]);

/** How a failure is written. Never raises, however malformed the request is (`docs/decisions.md#a1`). */
export function failureRepresentation(request: FastifyRequest): Representation {
  const { target } = request;
  const format = failureFormat(request);
  const pretty = [...target.matrix, ...target.query].some(
    ({ name, value }) => name === 'pretty' && value !== undefined && BOOLEAN.read(value),
  );
  const jsonp = target.query.find(({ name }) => name === 'jsonp')?.value;
  const callable = jsonp !== undefined && format === 'json' && isJsonpName(jsonp);
  return { format, pretty, jsonp: callable ? jsonp : undefined };
}

function failureFormat(request: FastifyRequest): Format {
  const named = [...request.target.matrix, ...request.target.query]
    .find(({ name }) => name === 'format')
    ?.value?.trim()
    .toLowerCase();
  const format = NAMED_FORMATS.get(named);
  if (format !== undefined) return format;
  try {
    return formatOf(request, request.service, ['json', 'xml']);
  } catch {
    return 'json';
  }
}

function formatOf(request: FastifyRequest, service: Service | undefined, offered: readonly Format[]): Format {
  const { method, contentType } = request;
  const posted = method === 'POST' || method === 'PUT' ? contentType : undefined;
  const { extension, path } = request.target;
  return chooseFormat({
    ...{ extension, contentType: posted, offered },
    accept: isLegacy(path, service) ? undefined : request.headers.accept,
    followsAccept: service?.followsAccept ?? false,
    notFound: service?.faults.notFound ?? httpFaults.notFound,
  });
}

/** Legacy paths choose the format by extension only (Document 3, Conventions). */
function isLegacy(path: string, service: Service | undefined): boolean {
  return service?.legacyPrefixes.some((prefix) => path.startsWith(`/${API_VERSION}/${prefix}/`)) === true;
}

/** How an answer can be written: only the negotiated one is called. CSV and iCalendar are lists (`ListAnswer`). */
export interface Renderings {
  readonly json: () => object;
  readonly xml?: () => XmlElement;
}

/** A rendered answer; the pieces of its body are produced on demand. */
export interface Rendered {
  readonly status: number;
  readonly contentType: string;
  readonly body: Iterable<string>;
}

export function renderResult(renderings: Renderings, status: number, view: Representation): Rendered {
  if (view.format === 'xml' && renderings.xml !== undefined) {
    return { status, contentType: CONTENT_TYPES.xml, body: xmlPieces(renderings.xml(), view) };
  }
  const result = jsonPieces(renderings.json(), view);
  if (view.jsonp !== undefined) return called(view.jsonp, { result });
  return { status, contentType: CONTENT_TYPES.json, body: result };
}

/** Writes an error list (Document 1, Errors), empty for success; to CSV requests as JSON. */
export function renderErrors(
  faults: readonly Fault[],
  status: number,
  namespace: string | undefined,
  view: Representation,
): Rendered {
  if (view.jsonp !== undefined && faults.length > 0) {
    return called(view.jsonp, { statusCode: status, message: new Faults(faults).message });
  }
  const json = () => errorsAsJson(faults);
  return renderResult({ json, xml: () => errorsAsXml(faults, namespace) }, status, view);
}

/** Codes of an answer that are linked. */
const MOST_LINKS = 10;

/** Leads to the pages that explain the codes of an error list, in every format (`docs/decisions.md#x139`). */
export function helpLinks(faults: readonly Fault[], baseUrl: string): Readonly<Record<string, string>> {
  const codes = [...new Set(faults.map(({ code }) => code))].slice(0, MOST_LINKS);
  const links = codes.map((code) => `<${baseUrl}/docs/errors/${code}>; rel="help"`);
  return links.length === 0 ? {} : { Link: links.join(', ') };
}

/** A script with an error status would not run (`docs/decisions.md#a5`). */
function called(name: string, call: JsonpCall): Rendered {
  return { status: 200, contentType: CONTENT_TYPES.jsonp, body: jsonpPieces(name, call) };
}
