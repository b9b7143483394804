import { ELECTRONICS, HOME, type ProductKind } from './kinds';
import { type Random, seededRandom, type Words } from './random';

const WEAR = ['Wollmann', 'Ashdown', 'Rive', 'Saltmarsh'];
const SHOES = ['Trittfest', 'Ashdown', 'Corso'];
const RIDE = ['Bergauf', 'Chainring', 'Veloce'];
const OUT = ['Wildpfad', 'Saltmarsh', 'Cairn'];

const CLOTHES = { name: ['Size', 'Größe'], values: ['S', 'M', 'L', 'XL'] } as const;
const FEET = { name: ['Size', 'Größe'], values: ['38', '40', '42', '44'] } as const;

const FASHION_AND_SPORT: readonly ProductKind[] = [
  {
    category: '311',
    noun: ['Jacket', 'Jacke'],
    shelf: ['Clothing > Jackets', 'Bekleidung > Jacken'],
    brands: WEAR,
    lines: ['Harbour', 'Northwind', 'Linde'],
    price: [49, 399],
    weight: [350, 1400],
    attribute: CLOTHES,
    features: [
      ['a hood that packs away', 'verstaubarer Kapuze'],
      ['taped seams', 'verschweißten Nähten'],
      ['a two-way zip', 'Zwei-Wege-Reißverschluss'],
      ['recycled filling', 'recycelter Füllung'],
    ],
  },
  {
    category: '312',
    noun: ['Trousers', 'Hose'],
    shelf: ['Clothing > Trousers', 'Bekleidung > Hosen'],
    brands: WEAR,
    lines: ['Mason', 'Rowan'],
    price: [29, 179],
    weight: [280, 720],
    attribute: CLOTHES,
    features: [
      ['an elastic waistband', 'elastischem Bund'],
      ['deep pockets', 'tiefen Taschen'],
      ['organic cotton', 'Bio-Baumwolle'],
      ['a straight leg', 'geradem Bein'],
    ],
  },
  {
    category: '313',
    noun: ['Jumper', 'Pullover'],
    shelf: ['Clothing > Knitwear', 'Bekleidung > Strick'],
    brands: WEAR,
    lines: ['Skerry', 'Flora'],
    price: [29, 219],
    weight: [250, 800],
    attribute: CLOTHES,
    features: [
      ['merino wool', 'Merinowolle'],
      ['a ribbed collar', 'geripptem Kragen'],
      ['raglan sleeves', 'Raglanärmeln'],
      ['a cable pattern', 'Zopfmuster'],
    ],
  },
  {
    category: '321',
    noun: ['Trainers', 'Sneaker'],
    shelf: ['Shoes > Trainers', 'Schuhe > Sneaker'],
    brands: SHOES,
    lines: ['Dash', 'Boulevard'],
    price: [39, 229],
    weight: [480, 980],
    attribute: FEET,
    features: [
      ['a cushioned sole', 'gedämpfter Sohle'],
      ['a breathable upper', 'atmungsaktivem Obermaterial'],
      ['a removable insole', 'herausnehmbarer Einlegesohle'],
      ['reflective details', 'reflektierenden Details'],
    ],
  },
  {
    category: '322',
    noun: ['Boots', 'Stiefel'],
    shelf: ['Shoes > Boots', 'Schuhe > Stiefel'],
    brands: SHOES,
    lines: ['Moor', 'Kontor'],
    price: [69, 349],
    weight: [900, 1900],
    attribute: FEET,
    features: [
      ['full-grain leather', 'vollnarbigem Leder'],
      ['a warm lining', 'warmem Futter'],
      ['a welted sole', 'rahmengenähter Sohle'],
      ['a side zip', 'seitlichem Reißverschluss'],
    ],
  },
  {
    category: '331',
    noun: ['Backpack', 'Rucksack'],
    shelf: ['Bags > Backpacks', 'Taschen > Rucksäcke'],
    brands: [...OUT, 'Rive'],
    lines: ['Commute', 'Summit'],
    price: [29, 289],
    weight: [450, 1900],
    attribute: { name: ['Volume', 'Volumen'], values: ['18 l', '25 l', '40 l', '55 l'] },
    features: [
      ['a padded laptop pocket', 'gepolstertem Notebookfach'],
      ['a rain cover', 'Regenhülle'],
      ['a ventilated back', 'belüftetem Rücken'],
      ['a chest strap', 'Brustgurt'],
    ],
  },
  {
    category: '411',
    noun: ['Bicycle', 'Fahrrad'],
    shelf: ['Cycling > Bicycles', 'Radsport > Fahrräder'],
    brands: RIDE,
    lines: ['Tour', 'Gravel', 'City'],
    price: [399, 3499],
    weight: [8900, 24500],
    attribute: { name: ['Gears', 'Gänge'], values: ['7', '11', '20', '22'] },
    features: [
      ['hydraulic disc brakes', 'hydraulischen Scheibenbremsen'],
      ['hub dynamo lighting', 'Nabendynamo'],
      ['an aluminium frame', 'Aluminiumrahmen'],
      ['a sturdy carrier', 'stabilem Gepäckträger'],
    ],
  },
  {
    category: '412',
    noun: ['Cycle helmet', 'Fahrradhelm'],
    shelf: ['Cycling > Helmets', 'Radsport > Helme'],
    brands: RIDE,
    lines: ['Aero', 'Shell'],
    price: [29, 249],
    weight: [220, 480],
    attribute: { name: ['Head size', 'Kopfumfang'], values: ['51-55 cm', '55-59 cm', '59-63 cm'] },
    features: [
      ['a magnetic buckle', 'Magnetverschluss'],
      ['a rear light', 'Rücklicht'],
      ['fourteen air vents', 'vierzehn Belüftungsöffnungen'],
      ['an insect net', 'Insektennetz'],
    ],
  },
  {
    category: '421',
    noun: ['Tent', 'Zelt'],
    shelf: ['Outdoor > Tents', 'Outdoor > Zelte'],
    brands: OUT,
    lines: ['Fjell', 'Dune'],
    price: [79, 899],
    weight: [1300, 9800],
    attribute: { name: ['Persons', 'Personen'], values: ['1', '2', '3', '4'] },
    features: [
      ['two entrances', 'zwei Eingängen'],
      ['aluminium poles', 'Aluminiumgestänge'],
      ['a water column of 3,000 mm', '3.000 mm Wassersäule'],
      ['a porch for luggage', 'Apsis für Gepäck'],
    ],
  },
  {
    category: '422',
    noun: ['Sleeping bag', 'Schlafsack'],
    shelf: ['Outdoor > Sleeping bags', 'Outdoor > Schlafsäcke'],
    brands: OUT,
    lines: ['Cocoon', 'Polar'],
    price: [39, 449],
    weight: [650, 2600],
    attribute: { name: ['Comfort', 'Komfortbereich'], values: ['10 °C', '5 °C', '0 °C', '-8 °C'] },
    features: [
      ['down filling', 'Daunenfüllung'],
      ['a draught collar', 'Wärmekragen'],
      ['a compression sack', 'Kompressionsbeutel'],
      ['a zip that does not jam', 'klemmfreiem Reißverschluss'],
    ],
  },
  {
    category: '431',
    noun: ['Yoga mat', 'Yogamatte'],
    shelf: ['Fitness > Mats', 'Fitness > Matten'],
    brands: ['Stille', 'Cairn', 'Rive'],
    lines: ['Calm', 'Flow'],
    price: [15, 119],
    weight: [900, 3200],
    attribute: { name: ['Thickness', 'Dicke'], values: ['3 mm', '5 mm', '8 mm'] },
    features: [
      ['a non-slip surface', 'rutschfester Oberfläche'],
      ['natural rubber', 'Naturkautschuk'],
      ['a carrying strap', 'Tragegurt'],
      ['alignment lines', 'Ausrichtungslinien'],
    ],
  },
];

export const KINDS: readonly ProductKind[] = [...ELECTRONICS, ...HOME, ...FASHION_AND_SPORT];

/** An article of a manufacturer; several shops may sell it. */
export interface Article {
  /** From 0. */
  readonly number: number;
  readonly kind: ProductKind;
  readonly brand: string;
  readonly model: string;
  readonly colour: Words;
  /** EAN-13; with a leading 0 it is also a UPC of twelve digits. */
  readonly ean: string;
  /** Approximate price in euro cents. */
  readonly price: number;
  readonly grams: number;
  readonly attribute: string;
  readonly features: readonly Words[];
}

const COLOURS: readonly Words[] = [
  ['black', 'schwarz'],
  ['white', 'weiß'],
  ['anthracite', 'anthrazit'],
  ['sage green', 'salbeigrün'],
  ['midnight blue', 'nachtblau'],
  ['brick red', 'ziegelrot'],
  ['sand', 'sandfarben'],
];

const MODELS_PER_KIND = 18;
const COLOURS_PER_MODEL = 3;

let cached: readonly Article[] | undefined;

/** All articles; the same in every run. */
export function catalogue(): readonly Article[] {
  return (cached ??= createAll());
}

function createAll(): readonly Article[] {
  const random = seededRandom(4);
  return KINDS.flatMap((kind) =>
    Array.from({ length: MODELS_PER_KIND }, () => modelOf(kind, random)).flatMap((model) =>
      random.some(COLOURS, COLOURS_PER_MODEL).map((colour) => ({ ...model, colour })),
    ),
  ).map((article, number) => ({ ...article, number, ean: eanOf(article.brand, number) }));
}

function modelOf(kind: ProductKind, random: Random): Omit<Article, 'number' | 'colour' | 'ean'> {
  const [lowest, highest] = kind.price;
  return {
    kind,
    brand: random.pick(kind.brands),
    model: `${random.pick(kind.lines)} ${random.between(2, 98) * 10}`,
    // Uniform on a logarithmic scale: cheap models are more frequent.
    price: Math.round(100 * lowest * (highest / lowest) ** random.next()),
    grams: random.between(...kind.weight),
    attribute: random.pick(kind.attribute.values),
    features: random.some(kind.features, 3),
  };
}

/** EANs from the ranges reserved for use within a company, which are never assigned to manufacturers. */
function eanOf(brand: string, number: number): string {
  // Prefixes without real products: coupons, and the one that GS1 reserves for demonstrations.
  const range = brand.charCodeAt(0) % 5 === 0 ? '050' : '952';
  return ean13(`${range}${String(number * 7919 + 1_000_003).padStart(9, '0')}`);
}

/** An EAN-13: twelve digits and their check digit. */
export function ean13(twelveDigits: string): string {
  let sum = 0;
  for (let at = 0; at < 12; at += 1) sum += Number(twelveDigits.charAt(at)) * (at % 2 === 0 ? 1 : 3);
  return `${twelveDigits}${(10 - (sum % 10)) % 10}`;
}
