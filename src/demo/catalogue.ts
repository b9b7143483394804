/** A kind of product, with enough data to generate plausible articles. */
interface ProductKind {
  readonly category: string;
  readonly noun: Words;
  /** The advertisers' own category name. */
  readonly shelf: Words;
  readonly brands: readonly string[];
  readonly lines: readonly string[];
  /** Lowest and highest price in euros. */
  readonly price: readonly [number, number];
  /** Lowest and highest weight in grams. */
  readonly weight: readonly [number, number];
  readonly attribute: { readonly name: Words; readonly values: readonly string[] };
  /** Phrases that follow "with" (in German: dative). */
  readonly features: readonly Words[];
}

/**
 * The kinds of products, texts as `English / German`. The lines of each: category, noun, shelf; brands, lines, price,
 * weight; attribute; features.
 */
const TABLE = `
  111 Headphones / Kopfhörer; Audio > Headphones / Audio > Kopfhörer
      Tonwerk, Auralis, Klarhall, Bexley Audio; Aria, Pulse, Silence; 29-399 EUR; 40-320 g
      Battery life / Akkulaufzeit: 20 h, 30 h, 40 h, 60 h
      active noise cancelling / aktiver Geräuschunterdrückung; soft ear pads / weichen Ohrpolstern
      two microphones for calls / zwei Mikrofonen zum Telefonieren; a folding headband / faltbarem Kopfbügel
  112 Wireless speaker / Funklautsprecher; Audio > Speakers / Audio > Lautsprecher
      Tonwerk, Auralis, Klarhall, Bexley Audio; Room, Chorus, Terra; 49-699 EUR; 400-6500 g
      Power / Leistung: 10 W, 30 W, 60 W, 120 W
      deep, clear bass / tiefem, klarem Bass; splash protection / Spritzwasserschutz
      stereo pairing of two / Stereopaarung von zweien;
      a battery for a whole day / Akku für einen ganzen Tag
  113 Turntable / Plattenspieler; Audio > Turntables / Audio > Plattenspieler
      Tonwerk, Auralis, Klarhall, Bexley Audio; Rille, Revolve; 119-899 EUR; 3200-9800 g
      Speeds / Drehzahlen: 33/45, 33/45/78
      belt drive / Riemenantrieb; a balanced tonearm / ausbalanciertem Tonarm
      a built-in preamplifier / eingebautem Vorverstärker; a dust cover / Staubschutzhaube
  121 Laptop / Notebook; Computers > Laptops / Computer > Notebooks
      Novatec, Quintus, Halden, Pixelforge; Slate, Voyager, Studio; 399-2299 EUR; 980-2400 g
      Memory / Arbeitsspeicher: 8 GB, 16 GB, 32 GB, 64 GB
      a matt display / mattem Bildschirm; a backlit keyboard / beleuchteter Tastatur
      a metal case / Metallgehäuse; fast charging over USB-C / Schnellladen über USB-C
  122 Monitor / Monitor; Computers > Displays / Computer > Bildschirme
      Novatec, Quintus, Halden, Pixelforge; Vista, Clarity; 129-1199 EUR; 3500-9200 g
      Screen size / Bilddiagonale: 24", 27", 32", 34"
      a height-adjustable stand / höhenverstellbarem Fuß;
      factory-calibrated colours / ab Werk kalibrierten Farben
      a thin bezel / schmalem Rahmen; a USB hub / USB-Hub
  123 Keyboard / Tastatur; Computers > Keyboards & mice / Computer > Tastaturen & Mäuse
      Novatec, Quintus, Halden, Pixelforge; Tact, Type; 19-189 EUR; 380-1250 g
      Layout / Tastenbelegung: QWERTY, QWERTZ
      mechanical switches / mechanischen Schaltern; quiet keys / leisen Tasten
      a wrist rest / Handballenauflage;
      wireless connection to three devices / Funkverbindung zu drei Geräten
  131 Smartphone / Smartphone; Phones > Smartphones / Telefone > Smartphones
      Orbita, Halden, Linnea, Quintus; One, Mini, Ultra; 149-1299 EUR; 140-235 g
      Storage / Speicher: 64 GB, 128 GB, 256 GB, 512 GB
      a bright OLED display / hellem OLED-Display; three cameras / drei Kameras
      room for two SIM cards / Platz für zwei SIM-Karten; five years of updates / fünf Jahren Updates
  132 Smart watch / Smartwatch; Phones > Smart watches / Telefone > Smartwatches
      Orbita, Halden, Linnea, Quintus; Loop, Tempo; 79-549 EUR; 24-68 g
      Case size / Gehäusegröße: 41 mm, 45 mm, 49 mm
      heart-rate measurement / Herzfrequenzmessung; satellite navigation / Satellitennavigation
      a strap that changes without tools / werkzeuglos wechselbarem Armband;
      ten days of battery life / zehn Tagen Akkulaufzeit
  141 System camera / Systemkamera; Photo > Cameras / Foto > Kameras
      Lumenta, Obscura, Pixelforge; Focus, Journey; 349-2799 EUR; 290-780 g
      Resolution / Auflösung: 20 MP, 24 MP, 33 MP, 45 MP
      a stabilised sensor / stabilisiertem Sensor; fast autofocus / schnellem Autofokus
      a tilting display / klappbarem Display; two card slots / zwei Kartenfächern
  211 Chair / Stuhl; Furniture > Chairs / Möbel > Stühle
      Fjordholz, Casa Bruna, Millbrook, Nest & Nook; Alva, Henley, Luca; 39-449 EUR; 3800-12500 g
      Seat height / Sitzhöhe: 44 cm, 46 cm, 48 cm
      a curved backrest / geschwungener Rückenlehne; felt glides / Filzgleitern
      a removable cover / abnehmbarem Bezug; a solid frame / massivem Gestell
  212 Dining table / Esstisch; Furniture > Tables / Möbel > Tische
      Fjordholz, Casa Bruna, Millbrook, Nest & Nook; Bergen, Orchard; 149-1499 EUR; 18000-64000 g
      Length / Länge: 120 cm, 160 cm, 200 cm, 240 cm
      an extension leaf / Ausziehplatte; an oiled surface / geölter Oberfläche
      rounded corners / abgerundeten Ecken; room for six / Platz für sechs
  213 Shelf unit / Regal; Furniture > Storage / Möbel > Aufbewahrung
      Fjordholz, Casa Bruna, Millbrook, Nest & Nook; Stack, Ridge; 29-599 EUR; 6500-38000 g
      Boards / Böden: 3, 4, 5, 6
      adjustable boards / verstellbaren Böden; a wall fixing / Wandbefestigung
      hidden screws / verdeckten Schrauben; a back panel / Rückwand
  221 Table lamp / Tischleuchte; Lamps > Table lamps / Lampen > Tischlampen
      Lichtblick, Glowworm, Casa Bruna; Dusk, Mira; 19-249 EUR; 600-3400 g
      Socket / Fassung: E14, E27, LED
      a dimmer / Dimmer; a shade of blown glass / Schirm aus mundgeblasenem Glas
      warm white light / warmweißem Licht; a fabric cable / Textilkabel
  222 Pendant lamp / Pendelleuchte; Lamps > Ceiling / Lampen > Decke
      Lichtblick, Glowworm, Casa Bruna; Orbit, Halo; 39-499 EUR; 900-7200 g
      Diameter / Durchmesser: 20 cm, 35 cm, 50 cm
      glare-free light / blendfreiem Licht; a height that can be set / einstellbarer Höhe
      a brass canopy / Baldachin aus Messing; a replaceable light source / wechselbarem Leuchtmittel
  231 Coffee machine / Kaffeemaschine; Kitchen > Coffee / Küche > Kaffee
      Kupferhof, Brewster, Savello; Barista, Crema, Morning; 49-999 EUR; 1900-11500 g
      Pressure / Druck: 9 bar, 15 bar, 19 bar
      a conical grinder / Kegelmahlwerk; a milk frother / Milchaufschäumer
      a removable tank / abnehmbarem Tank; a self-cleaning programme / Selbstreinigung
  232 Frying pan / Bratpfanne; Kitchen > Pots & pans / Küche > Töpfe & Pfannen
      Kupferhof, Brewster, Savello; Ember, Daily; 19-199 EUR; 700-3100 g
      Diameter / Durchmesser: 20 cm, 24 cm, 28 cm, 32 cm
      a base for induction / Boden für Induktion; a riveted handle / genietetem Griff
      a coating without PFAS / Beschichtung ohne PFAS; a pouring rim / Schüttrand
  241 Barbecue / Grill; Garden > Barbecues / Garten > Grills
      Glutwerk, Savello, Millbrook; Ranch, Patio; 59-1299 EUR; 4200-58000 g
      Burners / Brenner: 1, 2, 3, 4
      a cast-iron grate / Gussrost; a thermometer in the lid / Deckelthermometer
      two large wheels / zwei großen Rädern; a side table / Seitentisch
  311 Jacket / Jacke; Clothing > Jackets / Bekleidung > Jacken
      Wollmann, Ashdown, Rive, Saltmarsh; Harbour, Northwind, Linde; 49-399 EUR; 350-1400 g
      Size / Größe: S, M, L, XL
      a hood that packs away / verstaubarer Kapuze; taped seams / verschweißten Nähten
      a two-way zip / Zwei-Wege-Reißverschluss; recycled filling / recycelter Füllung
  312 Trousers / Hose; Clothing > Trousers / Bekleidung > Hosen
      Wollmann, Ashdown, Rive, Saltmarsh; Mason, Rowan; 29-179 EUR; 280-720 g
      Size / Größe: S, M, L, XL
      an elastic waistband / elastischem Bund; deep pockets / tiefen Taschen
      organic cotton / Bio-Baumwolle; a straight leg / geradem Bein
  313 Jumper / Pullover; Clothing > Knitwear / Bekleidung > Strick
      Wollmann, Ashdown, Rive, Saltmarsh; Skerry, Flora; 29-219 EUR; 250-800 g
      Size / Größe: S, M, L, XL
      merino wool / Merinowolle; a ribbed collar / geripptem Kragen
      raglan sleeves / Raglanärmeln; a cable pattern / Zopfmuster
  321 Trainers / Sneaker; Shoes > Trainers / Schuhe > Sneaker
      Trittfest, Ashdown, Corso; Dash, Boulevard; 39-229 EUR; 480-980 g
      Size / Größe: 38, 40, 42, 44
      a cushioned sole / gedämpfter Sohle; a breathable upper / atmungsaktivem Obermaterial
      a removable insole / herausnehmbarer Einlegesohle; reflective details / reflektierenden Details
  322 Boots / Stiefel; Shoes > Boots / Schuhe > Stiefel
      Trittfest, Ashdown, Corso; Moor, Kontor; 69-349 EUR; 900-1900 g
      Size / Größe: 38, 40, 42, 44
      full-grain leather / vollnarbigem Leder; a warm lining / warmem Futter
      a welted sole / rahmengenähter Sohle; a side zip / seitlichem Reißverschluss
  331 Backpack / Rucksack; Bags > Backpacks / Taschen > Rucksäcke
      Wildpfad, Saltmarsh, Cairn, Rive; Commute, Summit; 29-289 EUR; 450-1900 g
      Volume / Volumen: 18 l, 25 l, 40 l, 55 l
      a padded laptop pocket / gepolstertem Notebookfach; a rain cover / Regenhülle
      a ventilated back / belüftetem Rücken; a chest strap / Brustgurt
  411 Bicycle / Fahrrad; Cycling > Bicycles / Radsport > Fahrräder
      Bergauf, Chainring, Veloce; Tour, Gravel, City; 399-3499 EUR; 8900-24500 g
      Gears / Gänge: 7, 11, 20, 22
      hydraulic disc brakes / hydraulischen Scheibenbremsen; hub dynamo lighting / Nabendynamo
      an aluminium frame / Aluminiumrahmen; a sturdy carrier / stabilem Gepäckträger
  412 Cycle helmet / Fahrradhelm; Cycling > Helmets / Radsport > Helme
      Bergauf, Chainring, Veloce; Aero, Shell; 29-249 EUR; 220-480 g
      Head size / Kopfumfang: 51-55 cm, 55-59 cm, 59-63 cm
      a magnetic buckle / Magnetverschluss; a rear light / Rücklicht
      fourteen air vents / vierzehn Belüftungsöffnungen; an insect net / Insektennetz
  421 Tent / Zelt; Outdoor > Tents / Outdoor > Zelte
      Wildpfad, Saltmarsh, Cairn; Fjell, Dune; 79-899 EUR; 1300-9800 g
      Persons / Personen: 1, 2, 3, 4
      two entrances / zwei Eingängen; aluminium poles / Aluminiumgestänge
      a water column of 3,000 mm / 3.000 mm Wassersäule; a porch for luggage / Apsis für Gepäck
  422 Sleeping bag / Schlafsack; Outdoor > Sleeping bags / Outdoor > Schlafsäcke
      Wildpfad, Saltmarsh, Cairn; Cocoon, Polar; 39-449 EUR; 650-2600 g
      Comfort / Komfortbereich: 10 °C, 5 °C, 0 °C, -8 °C
      down filling / Daunenfüllung; a draught collar / Wärmekragen
      a compression sack / Kompressionsbeutel; a zip that does not jam / klemmfreiem Reißverschluss
  431 Yoga mat / Yogamatte; Fitness > Mats / Fitness > Matten
      Stille, Cairn, Rive; Calm, Flow; 15-119 EUR; 900-3200 g
      Thickness / Dicke: 3 mm, 5 mm, 8 mm
      a non-slip surface / rutschfester Oberfläche; natural rubber / Naturkautschuk
      a carrying strap / Tragegurt; alignment lines / Ausrichtungslinien
`;

export const KINDS: readonly ProductKind[] = TABLE.trim()
  .split(/\n {2}(?=\d)/)
  .map(kindIn);

function kindIn(text: string): ProductKind {
  const [first = '', second = '', third = '', ...features] = text.split(/;?\n\s+/);
  const [, category = '', noun = '', shelf = ''] = /^(\d+) (.*); (.*)$/.exec(first) ?? [];
  const [brands = '', lines = '', price = '', weight = ''] = second.split('; ');
  const [name = '', values = ''] = third.split(': ');
  return {
    category,
    noun: wordsIn(noun),
    shelf: wordsIn(shelf),
    brands: brands.split(', '),
    lines: lines.split(', '),
    price: rangeIn(price),
    weight: rangeIn(weight),
    attribute: { name: wordsIn(name), values: values.split(', ') },
    features: features.flatMap((line) => line.split('; ')).map(wordsIn),
  };
}

/** `29-399 EUR` */
function rangeIn(text: string): readonly [number, number] {
  const [lowest = '', highest = ''] = text.split('-');
  return [Number.parseInt(lowest, 10), Number.parseInt(highest, 10)];
}

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

/** A seeded pseudo-random generator. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** An integer from `min` to `max`, inclusive. */
  between(min: number, max: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** `count` different elements in their original order, or all if there are fewer. */
  some<T>(from: readonly T[], count: number): T[];
}

/** mulberry32, a generator with 32 bits of state: good enough for sample data only. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  const pick = <T>(from: readonly T[]): T => {
    const picked = from[between(0, from.length - 1)];
    if (picked === undefined) throw new RangeError('nothing to pick from');
    return picked;
  };
  return {
    next,
    between,
    pick,
    chance: (probability) => next() < probability,
    some: (from, count) => {
      let missing = count;
      return from.filter((_, at) => {
        const isPicked = next() * (from.length - at) < missing;
        if (isPicked) missing -= 1;
        return isPicked;
      });
    },
  };
}

/** Languages of the demo feeds. */
export type DemoLanguage = 'en' | 'de';

/** A text in both languages. */
export type Words = readonly [en: string, de: string];

/** `English / German` */
export function wordsIn(text: string): Words {
  const [en = '', de = ''] = text.split(' / ');
  return [en, de];
}

export function inLanguage(words: Words, language: DemoLanguage): string {
  return language === 'en' ? words[0] : words[1];
}
