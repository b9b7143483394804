import { BOOLEAN, type Keys, type KeyTable, type KeyType, oneOf } from '../../wire/keys/keys';
import { type CsvSeparators } from '../../wire/csv/write';
import { productFaults as fault } from './faults';
import { type CsvStyle } from './output-csv';

/** A character that may separate or embrace: no line end, and one that parsers take for one character. */
const USABLE = '[^\\r\\n\\ud800-\\udfff]';

const SEPARATORS: KeyType<CsvSeparators> = {
  expected:
    'three different characters, none of them a line end or beyond U+FFFF; a semicolon is written %3B in an address',
  problem: 'unusable',
  read: (text) => {
    const [, column = '', value = '', part = ''] = THREE.exec(text) ?? [];
    return new Set([column, value, part]).size === 3 ? [column, value, part] : undefined;
  },
};
const THREE = new RegExp(`^(${USABLE})(${USABLE})(${USABLE})$`);

const EMBRACE: KeyType<string> = {
  expected: 'one character, no line end and none beyond U+FFFF',
  problem: 'unusable',
  read: (text) => (ONE.test(text) ? text : undefined),
};
const ONE = new RegExp(`^${USABLE}$`);

/** Document 1, CSV export: the keys beside those of what is exported. */
export const csvKeys = {
  format: {
    type: oneOf('csv', 'json', 'xml'),
    beyondJson: true,
    description: 'Format of the answer; overrides the extension',
  },
  csvSeparators: {
    beyondJson: true,
    type: SEPARATORS,
    description: 'Between columns, values of a cell, parts of a value; by default ,;:',
  },
  csvEmbrace: {
    beyondJson: true,
    type: EMBRACE,
    description: 'What each cell of CSV is embraced by; by default a double quote',
  },
  csvFlattenFields: {
    type: BOOLEAN,
    beyondJson: true,
    description: 'Gives each custom field a column of its own',
  },
} as const satisfies KeyTable;

/** The CSV style that the keys ask for. Raises PF_430 if the embrace is also a separator. */
export function csvStyleOf({ format, csvSeparators, csvEmbrace }: Keys<typeof csvKeys>): CsvStyle {
  const separators = csvSeparators ?? [',', ';', ':'];
  const embrace = csvEmbrace ?? '"';
  if (separators.includes(embrace)) {
    const given = csvEmbrace === undefined ? `csvSeparators=${separators.join('')}` : `csvEmbrace=${embrace}`;
    throw fault.illegalValue(
      `${given}: expected separators and an embrace that differ: the separators are ${separators.join(' ')}, the embrace is ${embrace}`,
    );
  }
  return { columns: format === 'csv' ? 'of the key' : 'of the type', separators, embrace };
}
