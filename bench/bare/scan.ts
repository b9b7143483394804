import { DatabaseSync } from '@photostructure/sqlite';
import { iterate } from '../../src/engines/embedded/connection';

/** The fields of a stored product that are written. */
type Stored = Readonly<Record<string, unknown>>;

/** Serialises a product with the simplest code, without joining anything. */
export const SERIALISATIONS = {
  json: (stored: Stored) => JSON.stringify(stored),
  xml: (stored: Stored) => `<product>${elementsOf(stored)}</product>`,
  csv: (stored: Stored) => `${cellsOf(stored).join(',')}\r\n`,
} as const;

/** Reads and serialises all products of a read model file in row order; returns the total bytes. */
export function scanAndWrite(file: string, format: keyof typeof SERIALISATIONS): number {
  const database = new DatabaseSync(file, { returnArrays: true, readOnly: true });
  const write = SERIALISATIONS[format];
  let bytes = 0;
  try {
    for (const [body] of iterate<[string]>(database, database.prepare('SELECT body FROM bodies')))
      bytes += Buffer.from(write(JSON.parse(body) as Stored)).length;
  } finally {
    database.close();
  }
  return bytes;
}

function elementsOf(value: Stored): string {
  let text = '';
  for (const [name, child] of Object.entries(value)) text += elementOf(name, child);
  return text;
}

function elementOf(name: string, child: unknown): string {
  if (Array.isArray(child)) return child.map((item) => elementOf(name, item)).join('');
  if (typeof child === 'object' && child !== null) return `<${name}>${elementsOf(child as Stored)}</${name}>`;
  return `<${name}>${String(child).replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)}</${name}>`;
}

function cellsOf(value: object): string[] {
  return Object.values(value).flatMap((child: unknown) =>
    typeof child === 'object' && child !== null ? cellsOf(child) : `"${String(child).replaceAll('"', '""')}"`,
  );
}
