import { type Fault } from '../kernel/fault';
import { httpFaults } from './http-faults';
import { type Extension } from './request-target';

/** Formats of answers. */
export type Format = Extension;

/** Formats of posted bodies. */
export type BodyFormat = 'json' | 'xml';

export const CONTENT_TYPES = {
  json: 'application/json; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  ics: 'text/calendar; charset=utf-8',
  jsonp: 'application/javascript; charset=utf-8',
} as const;

const MEDIA_TYPES: Readonly<Record<Format, readonly [string, ...string[]]>> = {
  json: ['application/json', 'text/json'],
  xml: ['application/xml', 'text/xml'],
  csv: ['text/csv'],
  ics: ['text/calendar'],
};

/** What determines the format of an answer. */
export interface FormatRequest {
  readonly extension: Format | undefined;
  readonly accept: string | undefined;
  /** Content-Type of a posted body. */
  readonly contentType: string | undefined;
  /** Formats that the operation answers in. */
  readonly offered: readonly Format[];
  /** Those that `Accept` may choose for this service. */
  readonly byAccept: readonly Format[];
}

/**
 * The format of an answer (`docs/decisions.md#a1`): the extension, else what `Accept` may choose, else that
 * of the posted body, else JSON. Raises 404 for an extension that the operation does not offer, 406 if
 * `Accept` admits none of its formats.
 */
export function chooseFormat({ extension, accept, contentType, offered, byAccept }: FormatRequest): Format {
  if (extension !== undefined) {
    if (offered.includes(extension)) return extension;
    throw httpFaults.notFound(`.${extension}: expected .${offered.join(', .')}`);
  }
  if (accept !== undefined && accept.trim() !== '') {
    const ranges = mediaRanges(accept);
    const chosen = bestOf(
      ranges,
      byAccept.filter((format) => offered.includes(format)),
    );
    if (chosen !== undefined) return chosen;
    if (!offered.some((format) => ranges.some((range) => range.quality > 0 && admits(range.type, format)))) {
      const types = offered.map((format) => MEDIA_TYPES[format][0]).join(', ');
      throw httpFaults.notAcceptable(`Accept: ${accept}: expected ${types}`);
    }
  }
  return formatOfType(mediaTypeOf(contentType)) ?? 'json';
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

/** Of the formats that are named, the one with the highest weight; the first of equals. */
function bestOf(ranges: readonly MediaRange[], formats: readonly Format[]): Format | undefined {
  const named = ranges
    .map(({ type, quality }) => ({
      format: formats.find((format) => MEDIA_TYPES[format].includes(type)),
      quality,
    }))
    .filter(({ format, quality }) => format !== undefined && quality > 0)
    .sort((a, b) => b.quality - a.quality);
  return named[0]?.format;
}

function admits(range: string, format: Format): boolean {
  if (range === '*/*') return true;
  return MEDIA_TYPES[format].some((type) => type === range || range === `${type.split('/')[0] ?? ''}/*`);
}

/** The faults of a service for unusable Content-Types. */
export interface BodyFaults {
  /** None, or another than JSON and XML. */
  readonly type: (message: string) => Fault;
  /** No media type at all; by default the fault of another one. */
  readonly syntax?: (message: string) => Fault;
  /** Another encoding than UTF-8, or a compressed body. */
  readonly charset: (message: string) => Fault;
  readonly missingCharset: (message: string) => Fault;
  /** Formats of which a body may omit the charset. */
  readonly charsetOptional?: readonly Format[];
}

/**
 * The format that a Content-Type declares. Raises a fault of the service unless it conforms to
 * `docs/decisions.md#a10`.
 */
export function bodyFormat<Accepted extends Format>(
  contentType: string | undefined,
  faults: BodyFaults,
  accepted: readonly Accepted[],
): Accepted {
  const example = accepted.map((format) => `${MEDIA_TYPES[format][0]}; charset=utf-8`).join(' or ');
  const sent = contentType === undefined ? 'Content-Type is missing' : `Content-Type: ${contentType}`;
  const format = accepted.find((one) => MEDIA_TYPES[one].includes(mediaTypeOf(contentType)));
  if (format === undefined) {
    const isType = contentType === undefined || MEDIA_TYPE.test(mediaTypeOf(contentType));
    throw (isType ? faults.type : (faults.syntax ?? faults.type))(`${sent}: expected ${example}`);
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)"?/i.exec(contentType ?? '')?.[1] ?? '';
  if (charset === '') {
    if (faults.charsetOptional?.includes(format)) return format;
    throw faults.missingCharset(`${sent}: charset is missing, expected ${example}`);
  }
  if (!/^utf-?8$/i.test(charset)) throw faults.charset(`${sent}: expected ${example}`);
  return format;
}

/** RFC 9110, 8.3.1. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+$/;

function mediaTypeOf(contentType: string | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}

function formatOfType(type: string): BodyFormat | undefined {
  return (['json', 'xml'] as const).find((format) => MEDIA_TYPES[format].includes(type));
}
