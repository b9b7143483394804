import { type Directory } from '../directory/directory';
import { type Caller } from '../directory/organisations';
import { type Fault, Faults } from '../kernel/fault';
import { forbiddenCharacter } from '../wire/characters';
import { isLanguage } from '../wire/iso-codes';
import { isPosted, isUnset, type Posted, wholeNumber, wrong } from '../wire/posted';
import { isWebUrl } from '../wire/web-url';
import { voucherFaults as fault } from './faults';
import { POSTED_FIELDS, type TextField } from './fields';
import { isVoucherType, VOUCHER_TYPES, type VoucherTypeId } from './voucher-types';
import { type VoucherPost } from './vouchers';

/** Days that `endDate` may lie ahead (Document 2, Limits; `docs/decisions.md#v16`). */
const MAX_DAYS = 366;
const DAY = 24 * 60 * 60 * 1000;
/** The most that a date can be away from 1970 (ms). */
const MAX_TIME = 8.64e15;

/** What a post is checked against. */
export interface CheckOptions {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'organisationId'>;
  readonly now: Date;
}

/**
 * Checks a posted voucher, JSON or XML alike: in XML numbers and booleans are text. Strings are kept to the letter, fields
 * that the document does not name are left out. Raises everything that is wrong as `Faults`.
 */
export function checkVoucher(posted: unknown, options: CheckOptions): VoucherPost {
  if (!isPosted(posted)) throw fault.invalidVoucher(wrong('a voucher', posted, 'an object'));
  const check = new Check(posted);
  const title = check.required('title', check.text('title'), '');
  const programId = check.required('programId', check.integer('programId'), 0);
  const voucherTypeId = check.type();
  const code = check.text('code');
  const shortDescription = check.required('shortDescription', check.text('shortDescription'), '');
  const description = check.required('description', check.text('description'), '');
  const startDate = check.required('startDate', check.date('startDate'), '');
  const endDate = check.required('endDate', check.date('endDate'), '');
  const siteIds = check.siteIds();
  const landingUrl = check.url();
  const publishStartDate = check.date('publishStartDate');
  const publishEndDate = check.date('publishEndDate');
  const publisherInformation = check.text('publisherInformation');
  const discountAmount = check.amount();
  const isPercentage = check.boolean('isPercentage');
  const languageId = check.language();
  const sourceId = check.text('sourceId');
  check.windows(options.now);
  check.typeNeeds(voucherTypeId);
  check.access(programId, siteIds, options);
  check.raise();
  return {
    programId,
    ...(sourceId === undefined ? {} : { sourceId }),
    voucher: {
      title,
      voucherTypeId,
      ...(code === undefined ? {} : { code }),
      shortDescription,
      description,
      startDate,
      endDate,
      ...(siteIds.length === 0 ? {} : { siteIds }),
      ...(landingUrl === undefined ? {} : { landingUrl }),
      ...(publishStartDate === undefined ? {} : { publishStartDate }),
      ...(publishEndDate === undefined ? {} : { publishEndDate }),
      ...(publisherInformation === undefined ? {} : { publisherInformation }),
      ...(discountAmount === undefined ? {} : { discountAmount }),
      ...(isPercentage === undefined ? {} : { isPercentage }),
      ...(languageId === undefined ? {} : { languageId }),
    },
  };
}

class Check {
  private readonly faults: Fault[] = [];

  constructor(private readonly posted: Posted) {}

  raise(): void {
    if (this.faults.length > 0) throw new Faults(this.faults);
  }

  /** A field that must be there; one that is unusable has been refused already. */
  required<T>(field: string, value: T | undefined, instead: T): T {
    if (isUnset(this.posted[field])) this.refuse(`${field} must be set`);
    return value ?? instead;
  }

  /** Text of at most so many bytes; an integer stands for its digits (`docs/decisions.md#a11`). */
  text(field: TextField): string | undefined {
    const value = this.posted[field];
    if (isUnset(value)) return undefined;
    const text = field === 'sourceId' && Number.isSafeInteger(value) ? String(value) : value;
    if (typeof text === 'string') this.bounded(field, text);
    else this.refuse(wrong(field, value, 'a string'));
    return typeof text === 'string' ? text : undefined;
  }

  private bounded(field: TextField, text: string): void {
    const [size, most] = [Buffer.byteLength(text), POSTED_FIELDS[field].maxBytes];
    if (size > most) this.refuse(`${field} has ${size} bytes: expected at most ${most}`);
    const forbidden = forbiddenCharacter(text)?.codePoint.toString(16).padStart(4, '0');
    if (forbidden !== undefined)
      this.refuse(`${field} has the character U+${forbidden}, which XML does not allow`);
  }

  integer(field: string): number | undefined {
    const value = this.posted[field];
    if (isUnset(value)) return undefined;
    const number = wholeNumber(value);
    if (number === undefined) this.refuse(wrong(field, value, 'an integer'));
    return number;
  }

  type(): VoucherTypeId {
    const id = this.required('voucherTypeId', this.integer('voucherTypeId'), 6);
    if (isVoucherType(id)) return id;
    const names = Object.entries(VOUCHER_TYPES).map(([type, { name }]) => `${type} (${name})`);
    this.refuse(wrong('voucherTypeId', id, `one of ${names.join(', ')}`));
    return 6;
  }

  /** An ISO 8601 instant, posted in epoch milliseconds. */
  date(field: string): string | undefined {
    const value = this.posted[field];
    if (isUnset(value)) return undefined;
    const time = wholeNumber(value);
    if (time !== undefined && Math.abs(time) <= MAX_TIME) return new Date(time).toISOString();
    this.refuse(wrong(field, value, 'milliseconds since 1970'));
    return undefined;
  }

  siteIds(): readonly number[] {
    const value = this.posted.siteIds;
    const { most } = POSTED_FIELDS.siteIds;
    if (isUnset(value)) return [];
    const ids = Array.isArray(value) ? value.map(wholeNumber) : [undefined];
    if (ids.every((id) => id !== undefined) && ids.length <= most)
      return [...new Set(ids)].sort((a, b) => a - b);
    this.refuse(wrong('siteIds', value, `a list of at most ${most} integers`));
    return [];
  }

  url(): string | undefined {
    const url = this.text('landingUrl');
    if (url !== undefined && !isWebUrl(url))
      this.refuse(wrong('landingUrl', url, 'an absolute http or https URL'));
    return url;
  }

  amount(): number | undefined {
    const value = this.posted.discountAmount;
    if (isUnset(value)) return undefined;
    const amount = typeof value === 'string' && AMOUNT.test(value) ? Number(value) : value;
    if (typeof amount === 'number' && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER) return amount;
    this.refuse(wrong('discountAmount', value, 'a number from 0 with a dot as decimal mark, such as 12.5'));
    return undefined;
  }

  boolean(field: string): boolean | undefined {
    const value = this.posted[field];
    if (isUnset(value)) return undefined;
    if (typeof value === 'boolean') return value;
    const word = typeof value === 'string' ? value.toLowerCase() : '';
    if (word === 'true' || word === 'false') return word === 'true';
    this.refuse(wrong(field, value, 'true or false'));
    return undefined;
  }

  language(): string | undefined {
    const value = this.posted.languageId;
    if (isUnset(value)) return undefined;
    if (typeof value === 'string' && isLanguage(value.toLowerCase())) return value;
    this.refuse(wrong('languageId', value, 'an ISO 639-1 code such as de'));
    return undefined;
  }

  /** Document 2, Limits; `docs/decisions.md#v16`. */
  windows(now: Date): void {
    this.order('startDate', 'endDate');
    this.order('publishStartDate', 'publishEndDate');
    const end = wholeNumber(this.posted.endDate);
    const latest = now.getTime() + MAX_DAYS * DAY;
    if (end !== undefined && end > latest)
      this.refuse(`endDate is ${end}: expected ${latest} at the latest, ${MAX_DAYS} days ahead`);
  }

  private order(first: string, last: string): void {
    const [start, end] = [wholeNumber(this.posted[first]), wholeNumber(this.posted[last])];
    if (start !== undefined && end !== undefined && end <= start)
      this.refuse(`${last} is ${end}: it must be later than ${first}, which is ${start}`);
  }

  /** Fields that only some types need, or that need each other (`docs/decisions.md#v8`). */
  typeNeeds(typeId: VoucherTypeId): void {
    const type = VOUCHER_TYPES[typeId];
    if ('needs' in type && isUnset(this.posted[type.needs]))
      this.refuse(`${type.needs} must be set where voucherTypeId is ${typeId} (${type.name})`);
    if (!isUnset(this.posted.discountAmount) && isUnset(this.posted.isPercentage))
      this.refuse('isPercentage must be set where discountAmount is');
  }

  /** Document 2, Errors: 102 and 103; `docs/decisions.md#v5`, `#v18`. */
  access(programId: number, siteIds: readonly number[], { directory, caller }: CheckOptions): void {
    if (wholeNumber(this.posted.programId) === undefined) return;
    const program = directory.program(programId);
    if (program?.organisationId !== caller.organisationId) {
      this.faults.push(fault.noAccess(`programId is ${programId}: that is no program of yours`));
      return;
    }
    if (program.status !== 'active')
      this.faults.push(
        fault.noAccess(`program ${programId} is ${program.status}: vouchers are taken while it is active`),
      );
    const unconnected = siteIds.filter((id) => !directory.programs.connectionsOf(id).has(programId));
    if (unconnected.length > 0)
      this.faults.push(
        fault.notConnected(`siteIds: not connected to program ${programId}: ${unconnected.join(', ')}`),
      );
  }

  private refuse(message: string): void {
    this.faults.push(fault.invalidVoucher(message));
  }
}

const AMOUNT = /^\d{1,15}(\.\d{1,15})?$/;
