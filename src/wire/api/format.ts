import { type MakeFault } from '../../kernel/fault';
import { encodingNamed } from '../bytes';
import { type Extension } from '../keys/request-target';
import { httpFaults } from './errors';

/**
 * `text` is what other programs define, `tsv` and `rss` are posted only: they have no extension. `rss` is read as XML.
 */
export type Format = Extension | 'text' | 'tsv' | 'rss';

export type BodyFormat = 'json' | 'xml';

export const CONTENT_TYPES = {
  json: 'application/json; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  ics: 'text/calendar; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  tsv: 'text/tab-separated-values; charset=utf-8',
  rss: 'application/rss+xml; charset=utf-8',
  text: 'text/plain; version=0.0.4; charset=utf-8',
  jsonp: 'application/javascript; charset=utf-8',
} as const;

const MEDIA_TYPES: Readonly<Record<Format, readonly [string, ...string[]]>> = {
  json: ['application/json', 'text/json'],
  xml: ['application/xml', 'text/xml'],
  csv: ['text/csv'],
  ics: ['text/calendar'],
  ndjson: ['application/x-ndjson'],
  text: ['text/plain'],
  tsv: ['text/tab-separated-values'],
  rss: ['application/rss+xml', 'application/atom+xml'],
};

/** The media type of a format, as it is described: without a charset, which is UTF-8. */
export function mediaTypeFor(format: Format): string {
  return MEDIA_TYPES[format][0];
}

/** What determines the format of an answer. */
interface FormatRequest {
  readonly extension: Format | undefined;
  readonly accept: string | undefined;
  /** Content-Type of a posted body. */
  readonly contentType: string | undefined;
  /** Formats that the operation answers in. */
  readonly offered: readonly Format[];
  /** `Accept` chooses by weight; otherwise it chooses another than the default only if it does not admit that one. */
  readonly followsAccept: boolean;
  /** The fault of an extension that is not offered. */
  readonly notFound: MakeFault;
}

/**
 * The format of an answer (`docs/decisions.md#a1`): the extension, else what `Accept` chooses, else that
 * of the posted body, else JSON. Raises `notFound` for an extension that the operation does not offer, 406 if
 * `Accept` admits none of its formats.
 */
export function chooseFormat(request: FormatRequest): Format {
  const { extension, accept, contentType, offered, followsAccept, notFound } = request;
  if (extension !== undefined) {
    if (offered.includes(extension)) return extension;
    throw notFound(`.${extension}: expected .${offered.join(', .')}`);
  }
  const otherwise = formatOfType(mediaTypeOf(contentType)) ?? 'json';
  if (accept === undefined || accept.trim() === '') return otherwise;
  const ranges = mediaRanges(accept);
  if (!followsAccept && weightOf(otherwise, ranges) > 0) return otherwise;
  const best = bestOf(offered, otherwise, ranges);
  if (best !== undefined) return best;
  const types = offered.map((format) => MEDIA_TYPES[format][0]).join(', ');
  throw httpFaults.notAcceptable(`Accept: ${accept}: expected ${types}`);
}

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

function mediaRanges(accept: string): MediaRange[] {
  return accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const quality = q === undefined ? 1 : Number(q);
    return { type, quality: Number.isNaN(quality) ? 0 : quality };
  });
}

/** True if `Accept` prefers HTML to JSON, as those of browsers do. JSON is the default. */
export function prefersHtml(accept = ''): boolean {
  const ranges = mediaRanges(accept);
  const qualityOf = (types: readonly string[]): number | undefined =>
    types.map((type) => ranges.find((range) => range.type === type)?.quality).find((q) => q !== undefined);
  const html = qualityOf(['text/html', 'text/*']) ?? 0;
  const json = qualityOf(['application/json']);
  return json === undefined ? html > 0 && html >= (qualityOf(['application/*', '*/*']) ?? 0) : html > json;
}

/**
 * The format of the highest weight: of equals one that is named, the first of these, else `otherwise`, else the one
 * that is offered first. Undefined if none has a weight.
 */
function bestOf(
  offered: readonly Format[],
  otherwise: Format,
  ranges: readonly MediaRange[],
): Format | undefined {
  const most = Math.max(...offered.map((format) => weightOf(format, ranges)));
  if (most === 0) return undefined;
  const best = offered.filter((format) => weightOf(format, ranges) === most);
  const named = ranges
    .map(({ type }) => best.find((format) => MEDIA_TYPES[format].includes(type)))
    .find((format) => format !== undefined);
  return named ?? best.find((format) => format === otherwise) ?? best[0];
}

/** The weight of a format, by the most specific ranges that it is in (RFC 9110, 12.5.1); 0 if it is in none. */
function weightOf(format: Format, ranges: readonly MediaRange[]): number {
  const types = MEDIA_TYPES[format];
  const groups = types.map((type) => `${type.split('/')[0] ?? ''}/*`);
  for (const names of [types, groups, ['*/*']]) {
    const weights = ranges.filter(({ type }) => names.includes(type)).map(({ quality }) => quality);
    if (weights.length > 0) return Math.max(...weights);
  }
  return 0;
}

/** The faults of a service for unusable Content-Types. */
export interface BodyFaults {
  /** None, or another than JSON and XML. */
  readonly type: MakeFault;
  /** No media type at all; by default the fault of another one. */
  readonly syntax?: MakeFault;
  /** Another encoding than UTF-8, or a compressed body. */
  readonly charset: MakeFault;
}

/**
 * The format that a Content-Type declares; RSS and Atom are XML where TSV is accepted, in feeds of products. Raises a
 * fault unless it conforms to `docs/decisions.md#a10`.
 */
export function bodyFormat<Accepted extends Format>(
  contentType: string | undefined,
  faults: BodyFaults,
  accepted: readonly Accepted[],
): Accepted {
  const example = () => accepted.map((format) => `${MEDIA_TYPES[format][0]}; charset=utf-8`).join(' or ');
  const sent = contentType === undefined ? 'Content-Type is missing' : `Content-Type: ${contentType}`;
  const type = mediaTypeOf(contentType);
  const isFeed = MEDIA_TYPES.rss.includes(type) && accepted.some((one) => one === 'tsv');
  const format = accepted.find((one) => (isFeed ? one === 'xml' : MEDIA_TYPES[one].includes(type)));
  if (format === undefined) {
    const isType = contentType === undefined || MEDIA_TYPE.test(type);
    throw (isType ? faults.type : (faults.syntax ?? faults.type))(`${sent}: expected ${example()}`);
  }
  // Without a charset it is UTF-8.
  const charsets = charsetsIn(contentType);
  if (charsets.some((charset) => !/^(utf-?8)?$/i.test(charset)))
    throw faults.charset(`${sent}: expected ${example()}`);
  return format;
}

function charsetsIn(contentType = ''): readonly string[] {
  return Array.from(
    contentType.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)"?/gi),
    ([, charset = '']) => charset,
  );
}

/** RFC 9110, 8.3.1. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+$/;

function mediaTypeOf(contentType: string | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}

function formatOfType(type: string): BodyFormat | undefined {
  if (MEDIA_TYPES.rss.includes(type)) return 'xml';
  return (['json', 'xml'] as const).find((format) => MEDIA_TYPES[format].includes(type));
}

const FILE_FORMATS = ['json', 'xml', 'csv', 'tsv'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

const EXTENSIONS: Readonly<Partial<Record<string, FileFormat>>> = {
  ...{ json: 'json', xml: 'xml', rss: 'xml', atom: 'xml', csv: 'csv', tsv: 'tsv', tab: 'tsv' },
};

/** What is said of a file that is not posted: by its server (RFC 9110, RFC 6266), or by its name or path. */
interface FileDescription {
  readonly type?: string | undefined;
  readonly disposition?: string | undefined;
  readonly name?: string | undefined;
}

/** The format that a file is said to have, by its media type, or else by its name; undefined if neither tells. */
export function formatOfFile({ type, disposition = '', name = '' }: FileDescription): FileFormat | undefined {
  const media = mediaTypeOf(type);
  const declared = FILE_FORMATS.find((format) => MEDIA_TYPES[format].includes(media)) ?? formatOfType(media);
  const [, quoted, bare] = /;\s*filename\*?\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(disposition) ?? [];
  return declared ?? formatOfName(quoted ?? bare ?? '') ?? formatOfName(name);
}

/**
 * What the server of a file says it is encoded in, as `encodingNamed` returns it. Undefined for UTF-8: servers say so
 * of everything, and the file may know better.
 */
export function encodingOfFile(type: string | undefined): string | undefined {
  const encoding = encodingNamed(charsetsIn(type)[0] ?? '');
  return encoding === 'utf-8' ? undefined : encoding;
}

function formatOfName(name: string): FileFormat | undefined {
  return EXTENSIONS[/\.(\w+?)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase() ?? ''];
}

/** Whether a client accepts gzip (RFC 9110, Accept-Encoding). */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const codings = new Map(
    (acceptEncoding ?? '').split(',').map((part) => {
      const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return [coding, Number(weight) > 0];
    }),
  );
  return codings.get('gzip') ?? codings.get('x-gzip') ?? codings.get('*') ?? false;
}

/** Whether the client already has this version, by its If-None-Match (RFC 9110: weak comparison). */
export function hasVersion(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === etag);
}
