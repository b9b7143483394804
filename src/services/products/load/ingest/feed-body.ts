import { productFaults as fault } from '../../../../domain/products/feed';
import { digestOf } from '../../../../domain/products/fingerprints';
import {
  EncodedDecoder,
  encodingNamed,
  foreignByte,
  GrowingBytes,
  markedEncoding,
  NotParsable,
} from '../../../../wire/bytes';
import { csvCells, CsvCutter, type CsvDialect, separatorIn } from '../../../../wire/csv/cut';
import { type CsvSeparators } from '../../../../wire/csv/rows';
import { parseOrRefuse } from '../../product-check';
import { type FeedTerms, meaningOf, missingAmong, plain, READABLE_NAMES, together } from './columns';
import { JsonBody, type ProductIntake, XmlBody } from './product-intake';
import { foreignText } from './validate';

/** What a body of products is; `any` is recognised by its first character. */
export type FeedFormat = 'json' | 'xml' | 'csv' | 'tsv' | 'any';

/** How the columns of a body are read, in CSV. */
export interface ColumnOptions {
  /** Columns that are read as if they had another name: `name=title` reads the column `title` as the name. */
  readonly map?: readonly ColumnMapping[] | undefined;
  /** By default the column separator is that of the header. */
  readonly separators?: CsvSeparators | undefined;
  readonly embrace?: string | undefined;
}

export interface ColumnMapping {
  /** A name of a column that is read. */
  readonly as: string;
  readonly column: string;
}

/** Takes the bytes of a body as they come in. Raises `PF_210` for a malformed one. */
export interface FeedBody {
  write(chunk: Buffer): void;
  end(): void;
}

export interface FeedDescription {
  readonly format: FeedFormat;
  /** What `any` is if it has rows; by default CSV. */
  readonly rows?: 'tsv' | undefined;
  readonly columns?: ColumnOptions | undefined;
  /**
   * It is a file, which may be in another encoding than UTF-8 (`docs/decisions.md#p42`): what is declared of it, as
   * `encodingNamed` returns it. A body that is posted is in UTF-8 (Document 1, Conventions 8).
   */
  readonly file?: { readonly encoding: string | undefined } | undefined;
  readonly terms: FeedTerms;
}

/**
 * The products of a body go to `intake`. Raises `PF_430` for options that have no effect on the format. Files
 * in JSON are in UTF-8 too.
 */
export function feedBody(description: FeedDescription, intake: ProductIntake): FeedBody {
  const { format, file } = description;
  const body = utf8Body(description, intake);
  if (file === undefined || format === 'json') return body;
  return new BeginningBody((begin, isAll) => {
    const encoding = encodingOf(begin, isAll, file.encoding);
    if (encoding === undefined) return undefined;
    return { body: encoding === 'utf-8' ? body : new DecodedBody(encoding, body), from: begin };
  });
}

/** A file in another encoding, in UTF-8 as it comes in. Raises `PF_210` if it is not in that encoding. */
export async function* inUtf8(bytes: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer, void> {
  const written: Buffer[] = [];
  const body = new DecodedBody(encoding, {
    write: (chunk) => void written.push(chunk),
    end: () => undefined,
  });
  for await (const chunk of bytes) {
    body.write(chunk);
    yield* written.splice(0);
  }
  body.end();
  yield* written.splice(0);
}

function utf8Body(
  { format, rows, columns = {}, terms }: Omit<FeedDescription, 'file'>,
  intake: ProductIntake,
): FeedBody {
  switch (format) {
    case 'json':
    case 'xml':
      for (const [name, value] of Object.entries({
        ...{ map: columns.map, csvSeparators: columns.separators, csvEmbrace: columns.embrace },
      }))
        if (value !== undefined && value.length > 0)
          throw fault.illegalValue(`${name}: allowed for CSV only, the format is ${format}`);
      return format === 'json' ? new JsonBody(intake) : anyXmlBody(terms, intake);
    case 'csv':
    case 'tsv':
      return csvBody({ format, columns, terms }, intake);
    case 'any':
      return anyBody({ rows, columns, terms }, intake);
  }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const SPACES = [0x20, 0x09, 0x0a, 0x0d];
const LESS = 0x3c;
const BRACE = 0x7b;

/** A body of which the beginning says what reads it: bytes are kept until that is found. */
class BeginningBody implements FeedBody {
  private readonly begin = new GrowingBytes();
  private body: FeedBody | undefined;

  /** `start` returns what reads the body, and its bytes so far; undefined, unless it `isAll`, if these do not tell. */
  constructor(
    private readonly start: (
      begin: Buffer,
      isAll: boolean,
    ) => { readonly body: FeedBody; readonly from: Buffer } | undefined,
  ) {}

  write(chunk: Buffer): void {
    if (this.body === undefined) this.look(chunk, false);
    else this.body.write(chunk);
  }

  end(): void {
    if (this.body === undefined) this.look(Buffer.alloc(0), true);
    this.body?.end();
  }

  private look(chunk: Buffer, isAll: boolean): void {
    this.begin.add(chunk);
    const begin = this.begin.take();
    const found = this.start(begin, isAll);
    if (found === undefined) this.begin.add(begin);
    else {
      this.body = found.body;
      this.body.write(found.from);
    }
  }
}

/** Bytes of a byte order mark, or of what else tells UTF-16; and those in which an XML declaration ends. */
const MARK_BYTES = 4;
const MAX_DECLARATION = 1024;

/** What may be the beginning of an XML declaration, and one with an encoding. */
const DECLARATION_BEGUN = /^\s*(?:<(?:\?(?:x(?:m(?:l[^>]*)?)?)?)?)?$/;
const DECLARED = /^(\s*<\?xml\s[^>]*?\sencoding\s*=\s*["'])([\w.:-]+)/;

/**
 * What a file is encoded in: by its first bytes, by what is declared of it, or by its XML declaration; `utf-8` if
 * nothing says so. Undefined, unless it `isAll`, if these bytes do not tell.
 */
export function encodingOf(begin: Buffer, isAll: boolean, declared: string | undefined): string | undefined {
  if (begin.length < MARK_BYTES && !isAll) return undefined;
  const known = markedEncoding(begin) ?? declared;
  if (known === 'utf-8') return known;
  // All other encodings that are known have the characters of ASCII in the same bytes, as far
  // as a declaration needs them.
  const decoder = new EncodedDecoder(known ?? 'windows-1252');
  const prolog = parseOrRefuse(() => decoder.write(begin.subarray(0, MAX_DECLARATION)), NOWHERE);
  const mayBegin = prolog.length < MAX_DECLARATION / 2 && DECLARATION_BEGUN.test(prolog);
  if (mayBegin && !isAll) return undefined;
  if (known !== undefined) return known;
  const own = encodingNamed(DECLARED.exec(prolog)?.[2] ?? 'utf-8') ?? 'utf-8';
  // A declaration that can be read is not in UTF-16.
  return own.startsWith('utf-16') ? 'utf-8' : own;
}

/** A body in another encoding, which is passed on in UTF-8 as it comes in; an XML declaration says so. */
class DecodedBody implements FeedBody {
  private readonly decoder: EncodedDecoder;
  private hasBegun = false;

  constructor(
    encoding: string,
    private readonly body: FeedBody,
  ) {
    this.decoder = new EncodedDecoder(encoding);
  }

  write(chunk: Buffer): void {
    this.pass(parseOrRefuse(() => this.decoder.write(chunk), NOWHERE));
  }

  end(): void {
    this.pass(parseOrRefuse(() => this.decoder.end(), NOWHERE));
    this.body.end();
  }

  private pass(text: string): void {
    if (text === '') return;
    const own = this.hasBegun ? text : text.replace(DECLARED, '$1UTF-8');
    this.hasBegun = true;
    this.body.write(Buffer.from(own));
  }
}

/** A body whose format is recognised by its first character: `<` begins XML, `{` JSON, anything else CSV. */
function anyBody(description: Omit<FeedDescription, 'format'>, intake: ProductIntake): FeedBody {
  return new BeginningBody((begin, isAll) => {
    const first = begin.find((byte) => !SPACES.includes(byte) && !BYTE_ORDER_MARK.includes(byte));
    if (first === undefined) {
      if (isAll) throw fault.noParsableContent('the body is empty');
      if (begin.length > MAX_HEADER)
        throw fault.noParsableContent('the body begins with too much white space');
      return undefined;
    }
    const format = first === LESS ? 'xml' : first === BRACE ? 'json' : (description.rows ?? 'csv');
    const body = utf8Body({ ...description, format }, intake);
    // White space may precede JSON, but not an XML declaration.
    return { body, from: format === 'xml' ? begin.subarray(begin.indexOf(LESS)) : begin };
  });
}

/** The root element of an XML document. */
const ROOT = /^(?:\u00ef\u00bb\u00bf)?(?:\s|<\?[^>]*>|<!--(?:(?!-->)[^])*-->)*<([\w.:-]+)[\s/>]/;
/** Bytes in which it is looked for. */
const MAX_PROLOG = 8 * 1024;

/** XML of our own, or a Google Merchant feed in RSS or Atom, by its root element. */
function anyXmlBody(terms: FeedTerms, intake: ProductIntake): FeedBody {
  return new BeginningBody((begin, isAll) => {
    const root = ROOT.exec(begin.toString('latin1', 0, MAX_PROLOG))?.[1];
    if (root === undefined && !isAll && begin.length < MAX_PROLOG) return undefined;
    const isMerchant = root === 'rss' || root === 'feed';
    const written = isMerchant ? ({ format: 'merchant', root, terms, prefixes: [] } as const) : undefined;
    return { body: new XmlBody(intake, written), from: begin };
  });
}

/** Bytes of a header, and of a row: more than a product may have, since columns may not be read. */
const MAX_HEADER = 256 * 1024;
const MAX_ROW = 1024 * 1024;
const MAX_COLUMNS = 1000;

/** CSV of which the first row names the columns (`docs/decisions.md#p35`). */
function csvBody(description: FeedDescription, intake: ProductIntake): FeedBody {
  return new BeginningBody((begin, isAll) => {
    if (firstLine(begin) === undefined && !isAll && begin.length <= MAX_HEADER) return undefined;
    const isMarked = begin.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    const from = isMarked ? begin.subarray(BYTE_ORDER_MARK.length) : begin;
    const { format, columns: { separators, embrace = '"' } = {} } = description;
    const header = (firstLine(from) ?? from).toString('latin1');
    const separator = separators?.[0] ?? (format === 'tsv' ? '\t' : separatorIn(header, embrace));
    return { body: new RowsBody(description, intake, { separator, embrace }), from };
  });
}

/**
 * Cuts rows out of CSV. Raises `PF_210` for a header that lacks a required column or has two of one meaning, and for
 * rows that cannot be told apart.
 */
class RowsBody implements FeedBody {
  private readonly cutter: CsvCutter;
  private hasHeader = false;

  constructor(
    private readonly description: FeedDescription,
    private readonly intake: ProductIntake,
    dialect: CsvDialect,
  ) {
    this.cutter = new CsvCutter({
      ...dialect,
      maxRow: MAX_ROW,
      onRow: (row, line) => {
        if (this.hasHeader) this.intake.addBytes(row, line);
        else this.readHeader(row, line, dialect);
      },
      onOversized: (line) => {
        if (!this.hasHeader) throw new NotParsable(`the header has more than ${MAX_ROW} bytes`);
        this.intake.addOversized(undefined, line);
      },
    });
  }

  write(chunk: Buffer): void {
    parseOrRefuse(() => this.cutter.write(chunk), NOWHERE);
  }

  end(): void {
    parseOrRefuse(() => {
      this.cutter.end();
      if (!this.hasHeader) throw new NotParsable('it is empty, expected a header that names the columns');
    }, NOWHERE);
  }

  private readHeader(row: Buffer, line: number, dialect: CsvDialect): void {
    this.hasHeader = true;
    const { columns = {}, terms } = this.description;
    const foreign = foreignByte(row);
    if (foreign !== undefined) throw new NotParsable(foreignText(line, foreign));
    const names = csvCells(row.toString(), dialect).cells.map((cell) => cell.trim());
    if (names.length > MAX_COLUMNS) throw new NotParsable(`the header has more than ${MAX_COLUMNS} columns`);
    const meanings = meaningsOf(names, columns.map ?? []);
    const [, value = ';', part = ':'] = columns.separators ?? [];
    const within = { value, part };
    const salt = digestOf(JSON.stringify([dialect, within, meanings]));
    this.intake.written = { format: 'csv', ...dialect, names, meanings, within, terms, salt };
    names.forEach((name, at) => {
      if (meanings[at] === undefined && name !== '') this.intake.ignored.add(name, 0, undefined);
    });
  }
}

const NOWHERE = (): string => '';

/** The first line that has anything; undefined if it has not ended. */
function firstLine(bytes: Buffer): Buffer | undefined {
  const from = bytes.findIndex((byte) => byte !== 0x0a && byte !== 0x0d);
  if (from === -1) return undefined;
  const length = bytes.subarray(from).findIndex((byte) => byte === 0x0a || byte === 0x0d);
  return length === -1 ? undefined : bytes.subarray(from, from + length);
}

/** What each column means. Raises `NotParsable` unless each required field has one column. */
function meaningsOf(
  names: readonly string[],
  map: readonly ColumnMapping[],
): readonly (string | undefined)[] {
  const mapped = new Map<number, string>();
  for (const { as, column } of map) {
    const at = names.findIndex((name) => plain(name) === plain(column));
    if (at === -1) throw new NotParsable(`map=${as}:${column}: expected one of its columns: ${list(names)}`);
    if (mapped.has(at)) throw new NotParsable(`map: the column ${column} is mapped twice`);
    mapped.set(at, meaningOf(as) ?? as);
  }
  const chosen = new Set(mapped.values());
  const own = names.map((name, at) => {
    const meaning = mapped.get(at) ?? meaningOf(name.replace(/^g:/i, ''));
    // A mapped column replaces the one of that name.
    return meaning !== undefined && !mapped.has(at) && chosen.has(meaning) ? undefined : meaning;
  });
  const meanings = together(own);
  meanings.forEach((meaning, at) => {
    const before = meaning === undefined ? -1 : meanings.indexOf(meaning);
    if (before !== -1 && before !== at)
      throw new NotParsable(
        `the columns ${names[before] ?? ''} and ${names[at] ?? ''} are both read as ${meaning ?? ''}: rename one, or ` +
          'choose by the key map',
      );
  });
  const missing = missingAmong(meanings);
  const chosenBy = (sign: string) => missing.map(({ field }) => `${field}${sign}COLUMN`).join(',');
  if (missing.length > 0)
    throw new NotParsable(
      `no column for ${missing.map((one) => one.names.join(' or ')).join(', ')}: rename columns, or choose them by ` +
        `the key map (map=${chosenBy(':')}) or --map ${chosenBy('=')}; the header has ${list(names)}`,
    );
  return meanings;
}

/** For messages. */
function list(names: readonly string[]): string {
  const text = names.join(', ');
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

/** A mapping as a text `name:title`; undefined if it is none. */
export function mappingIn(text: string, between: string): ColumnMapping | undefined {
  const at = text.indexOf(between);
  const as = text.slice(0, at).trim();
  const column = text.slice(at + 1).trim();
  return at > 0 && column !== '' && meaningOf(as) !== undefined ? { as, column } : undefined;
}

export const EXPECTED_MAPPING = `what a column is read as and its name, such as name:title; the first is one of ${READABLE_NAMES.join(', ')}`;
