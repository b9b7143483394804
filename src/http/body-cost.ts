import { type Format } from '../wire/api/format';
import { CsvMarks } from '../wire/csv/marks';
import { JsonMarks } from '../wire/json/marks';
import { AnyMarks, type Marks, type Weights } from '../wire/marks';
import { XmlMarks } from '../wire/xml/marks';

/** What a body takes until its request is answered, in bytes. */
export interface BodyCost {
  readonly memory: number;
  /** On disk. */
  readonly space: number;
}

/**
 * The cost of so many bytes, of which a chunk is the last one to have arrived; those that headers declare count from
 * the start.
 */
export type CostOf = (bytes: number, chunk?: Buffer) => BodyCost;

/** A request with a body, however small it is. */
const LEAST = 64 * 1024;
/** For each byte: as text in memory, where a character may take two, and in part as what is made of it. */
const PER_BYTE = 2;
/**
 * For bytes that begin a value or separate two: in JSON, an empty object takes three bytes, and 64 in memory; in XML,
 * an empty element four and 100, its attribute five and 50 to 150; in CSV, a line two and 240, each further cell two
 * and 40.
 */
const PER_MARK = {
  json: { '{': 64, '[': 64, ',': 64, ':': 64, '"': 64 },
  xml: { '<': 128, '"': 64, "'": 64 },
  csv: { ',': 64, ';': 64, '\t': 64, '\n': 256, '\r': 256 },
} as const;
const WEIGHTS = {
  json: weightsOf(PER_MARK.json),
  xml: weightsOf(PER_MARK.xml),
  csv: weightsOf(PER_MARK.csv),
  any: weightsOf({ ...PER_MARK.json, ...PER_MARK.xml, ...PER_MARK.csv }),
};

function weightsOf(perMark: Readonly<Record<string, number>>): Weights {
  const weights = new Uint16Array(256);
  for (const [character, bytes] of Object.entries(perMark)) weights[character.charCodeAt(0)] = bytes;
  return weights;
}

/** The cost of a body that is parsed in memory as this format; without one, as any. */
export function parsedCost(format?: Format): CostOf {
  const marks = marksOf(format);
  let values = 0;
  return (bytes, chunk) => {
    if (chunk !== undefined) values = marks.write(chunk);
    return { memory: Math.max(LEAST, bytes * PER_BYTE + values), space: 0 };
  };
}

function marksOf(format: Format | undefined): Marks {
  switch (format) {
    case 'json':
      return new JsonMarks(WEIGHTS.json);
    case 'xml':
      return new XmlMarks(WEIGHTS.xml);
    case 'csv':
      return new CsvMarks(WEIGHTS.csv);
    default:
      return new AnyMarks(WEIGHTS.any);
  }
}
