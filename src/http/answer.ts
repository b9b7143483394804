import { type Fault, Faults } from '../kernel/fault';
import { type Position } from '../kernel/event';
import { type Format } from '../wire/api/format';
import { type XmlElement } from '../wire/xml/write';

/**
 * The ways an answer can be written; only the negotiated one is called. CSV and iCalendar are lists: `ListAnswer`. Long
 * lists are written in slices: a list directly in the JSON object, or directly below a child of the XML root.
 */
export interface Renderings {
  readonly json: () => object;
  readonly xml?: () => XmlElement;
}

export interface AnswerDetails {
  /** HTTP status, by default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Log position of the last event that the request has written: sent as `X-Log-Position`. */
  readonly position?: Position;
  /** The format that a key asked for; it overrides negotiation. */
  readonly format?: Format;
}

/** Returned by a handler: `AnswerWriter` renders it in the negotiated format. */
export class Answer {
  constructor(
    readonly renderings: Renderings | { readonly faults: readonly Fault[] } | 'none',
    readonly details: AnswerDetails = {},
  ) {}

  /** The same answer in JSON, and in XML by the table of its fields. */
  static of<T extends object>(answer: T, toXml: (answer: T) => XmlElement, details?: AnswerDetails): Answer {
    return new Answer({ json: () => answer, xml: () => toXml(answer) }, details);
  }

  /** No body: HTTP status 204. */
  static none(details: Pick<AnswerDetails, 'position'>): Answer {
    return new Answer('none', { ...details, status: 204 });
  }

  /** The error list of a write (Document 1, Errors): empty is success. */
  static errors(faults: readonly Fault[], details: Omit<AnswerDetails, 'format' | 'status'> = {}): Answer {
    const status = faults.length === 0 ? 200 : new Faults(faults).status;
    return new Answer({ faults }, { ...details, status });
  }
}
