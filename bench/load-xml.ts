import { xmlProducts } from './bare/read-xml';
import { type Bench, type Figure } from './harness';
import { compareFormats, compareLoads } from './loads';

/** Posts XML; the bare side builds the same products with saxes. */
export async function loadXml(bench: Bench): Promise<readonly Figure[]> {
  return compareLoads(bench, { figure: 'load-xml', format: 'xml', goal: 0.7 }, (body) => {
    let built = 0;
    xmlProducts(body, () => (built += 1));
    if (built !== bench.count) throw new Error(`saxes built ${built} of ${bench.count} products`);
  });
}

/** Posts CSV, every cell in quotes; against JSON. */
export async function loadCsv(bench: Bench): Promise<readonly Figure[]> {
  return compareFormats(bench, { figure: 'load-csv', format: 'csv' });
}

/** Posts a Google Merchant feed in RSS; against JSON. */
export async function loadGoogle(bench: Bench): Promise<readonly Figure[]> {
  return compareFormats(bench, { figure: 'load-google', format: 'google' });
}
