import { type Words } from './random';

/** A kind of product, with enough data to generate plausible articles. */
export interface ProductKind {
  /** Platform category. */
  readonly category: string;
  readonly noun: Words;
  /** The advertisers' own category name. */
  readonly shelf: Words;
  readonly brands: readonly string[];
  /** Names of model lines. */
  readonly lines: readonly string[];
  /** Lowest and highest price in euros. */
  readonly price: readonly [number, number];
  /** Lowest and highest weight in grams. */
  readonly weight: readonly [number, number];
  /** A custom field and its values. */
  readonly attribute: { readonly name: Words; readonly values: readonly string[] };
  /** Phrases that follow "with" (in German: dative). */
  readonly features: readonly Words[];
}

const SOUND = ['Tonwerk', 'Auralis', 'Klarhall', 'Bexley Audio'];
const COMPUTERS = ['Novatec', 'Quintus', 'Halden', 'Pixelforge'];
const MOBILE = ['Orbita', 'Halden', 'Linnea', 'Quintus'];

export const ELECTRONICS: readonly ProductKind[] = [
  {
    category: '111',
    noun: ['Headphones', 'Kopfhörer'],
    shelf: ['Audio > Headphones', 'Audio > Kopfhörer'],
    brands: SOUND,
    lines: ['Aria', 'Pulse', 'Silence'],
    price: [29, 399],
    weight: [40, 320],
    attribute: { name: ['Battery life', 'Akkulaufzeit'], values: ['20 h', '30 h', '40 h', '60 h'] },
    features: [
      ['active noise cancelling', 'aktiver Geräuschunterdrückung'],
      ['soft ear pads', 'weichen Ohrpolstern'],
      ['two microphones for calls', 'zwei Mikrofonen zum Telefonieren'],
      ['a folding headband', 'faltbarem Kopfbügel'],
    ],
  },
  {
    category: '112',
    noun: ['Wireless speaker', 'Funklautsprecher'],
    shelf: ['Audio > Speakers', 'Audio > Lautsprecher'],
    brands: SOUND,
    lines: ['Room', 'Chorus', 'Terra'],
    price: [49, 699],
    weight: [400, 6500],
    attribute: { name: ['Power', 'Leistung'], values: ['10 W', '30 W', '60 W', '120 W'] },
    features: [
      ['deep, clear bass', 'tiefem, klarem Bass'],
      ['splash protection', 'Spritzwasserschutz'],
      ['stereo pairing of two', 'Stereopaarung von zweien'],
      ['a battery for a whole day', 'Akku für einen ganzen Tag'],
    ],
  },
  {
    category: '113',
    noun: ['Turntable', 'Plattenspieler'],
    shelf: ['Audio > Turntables', 'Audio > Plattenspieler'],
    brands: SOUND,
    lines: ['Rille', 'Revolve'],
    price: [119, 899],
    weight: [3200, 9800],
    attribute: { name: ['Speeds', 'Drehzahlen'], values: ['33/45', '33/45/78'] },
    features: [
      ['belt drive', 'Riemenantrieb'],
      ['a balanced tonearm', 'ausbalanciertem Tonarm'],
      ['a built-in preamplifier', 'eingebautem Vorverstärker'],
      ['a dust cover', 'Staubschutzhaube'],
    ],
  },
  {
    category: '121',
    noun: ['Laptop', 'Notebook'],
    shelf: ['Computers > Laptops', 'Computer > Notebooks'],
    brands: COMPUTERS,
    lines: ['Slate', 'Voyager', 'Studio'],
    price: [399, 2299],
    weight: [980, 2400],
    attribute: { name: ['Memory', 'Arbeitsspeicher'], values: ['8 GB', '16 GB', '32 GB', '64 GB'] },
    features: [
      ['a matt display', 'mattem Bildschirm'],
      ['a backlit keyboard', 'beleuchteter Tastatur'],
      ['a metal case', 'Metallgehäuse'],
      ['fast charging over USB-C', 'Schnellladen über USB-C'],
    ],
  },
  {
    category: '122',
    noun: ['Monitor', 'Monitor'],
    shelf: ['Computers > Displays', 'Computer > Bildschirme'],
    brands: COMPUTERS,
    lines: ['Vista', 'Clarity'],
    price: [129, 1199],
    weight: [3500, 9200],
    attribute: { name: ['Screen size', 'Bilddiagonale'], values: ['24"', '27"', '32"', '34"'] },
    features: [
      ['a height-adjustable stand', 'höhenverstellbarem Fuß'],
      ['factory-calibrated colours', 'ab Werk kalibrierten Farben'],
      ['a thin bezel', 'schmalem Rahmen'],
      ['a USB hub', 'USB-Hub'],
    ],
  },
  {
    category: '123',
    noun: ['Keyboard', 'Tastatur'],
    shelf: ['Computers > Keyboards & mice', 'Computer > Tastaturen & Mäuse'],
    brands: COMPUTERS,
    lines: ['Tact', 'Type'],
    price: [19, 189],
    weight: [380, 1250],
    attribute: { name: ['Layout', 'Tastenbelegung'], values: ['QWERTY', 'QWERTZ'] },
    features: [
      ['mechanical switches', 'mechanischen Schaltern'],
      ['quiet keys', 'leisen Tasten'],
      ['a wrist rest', 'Handballenauflage'],
      ['wireless connection to three devices', 'Funkverbindung zu drei Geräten'],
    ],
  },
  {
    category: '131',
    noun: ['Smartphone', 'Smartphone'],
    shelf: ['Phones > Smartphones', 'Telefone > Smartphones'],
    brands: MOBILE,
    lines: ['One', 'Mini', 'Ultra'],
    price: [149, 1299],
    weight: [140, 235],
    attribute: { name: ['Storage', 'Speicher'], values: ['64 GB', '128 GB', '256 GB', '512 GB'] },
    features: [
      ['a bright OLED display', 'hellem OLED-Display'],
      ['three cameras', 'drei Kameras'],
      ['room for two SIM cards', 'Platz für zwei SIM-Karten'],
      ['five years of updates', 'fünf Jahren Updates'],
    ],
  },
  {
    category: '132',
    noun: ['Smart watch', 'Smartwatch'],
    shelf: ['Phones > Smart watches', 'Telefone > Smartwatches'],
    brands: MOBILE,
    lines: ['Loop', 'Tempo'],
    price: [79, 549],
    weight: [24, 68],
    attribute: { name: ['Case size', 'Gehäusegröße'], values: ['41 mm', '45 mm', '49 mm'] },
    features: [
      ['heart-rate measurement', 'Herzfrequenzmessung'],
      ['satellite navigation', 'Satellitennavigation'],
      ['a strap that changes without tools', 'werkzeuglos wechselbarem Armband'],
      ['ten days of battery life', 'zehn Tagen Akkulaufzeit'],
    ],
  },
  {
    category: '141',
    noun: ['System camera', 'Systemkamera'],
    shelf: ['Photo > Cameras', 'Foto > Kameras'],
    brands: ['Lumenta', 'Obscura', 'Pixelforge'],
    lines: ['Focus', 'Journey'],
    price: [349, 2799],
    weight: [290, 780],
    attribute: { name: ['Resolution', 'Auflösung'], values: ['20 MP', '24 MP', '33 MP', '45 MP'] },
    features: [
      ['a stabilised sensor', 'stabilisiertem Sensor'],
      ['fast autofocus', 'schnellem Autofokus'],
      ['a tilting display', 'klappbarem Display'],
      ['two card slots', 'zwei Kartenfächern'],
    ],
  },
];

const ROOMS = ['Fjordholz', 'Casa Bruna', 'Millbrook', 'Nest & Nook'];
const LIGHT = ['Lichtblick', 'Glowworm', 'Casa Bruna'];
const COOKING = ['Kupferhof', 'Brewster', 'Savello'];

export const HOME: readonly ProductKind[] = [
  {
    category: '211',
    noun: ['Chair', 'Stuhl'],
    shelf: ['Furniture > Chairs', 'Möbel > Stühle'],
    brands: ROOMS,
    lines: ['Alva', 'Henley', 'Luca'],
    price: [39, 449],
    weight: [3800, 12500],
    attribute: { name: ['Seat height', 'Sitzhöhe'], values: ['44 cm', '46 cm', '48 cm'] },
    features: [
      ['a curved backrest', 'geschwungener Rückenlehne'],
      ['felt glides', 'Filzgleitern'],
      ['a removable cover', 'abnehmbarem Bezug'],
      ['a solid frame', 'massivem Gestell'],
    ],
  },
  {
    category: '212',
    noun: ['Dining table', 'Esstisch'],
    shelf: ['Furniture > Tables', 'Möbel > Tische'],
    brands: ROOMS,
    lines: ['Bergen', 'Orchard'],
    price: [149, 1499],
    weight: [18000, 64000],
    attribute: { name: ['Length', 'Länge'], values: ['120 cm', '160 cm', '200 cm', '240 cm'] },
    features: [
      ['an extension leaf', 'Ausziehplatte'],
      ['an oiled surface', 'geölter Oberfläche'],
      ['rounded corners', 'abgerundeten Ecken'],
      ['room for six', 'Platz für sechs'],
    ],
  },
  {
    category: '213',
    noun: ['Shelf unit', 'Regal'],
    shelf: ['Furniture > Storage', 'Möbel > Aufbewahrung'],
    brands: ROOMS,
    lines: ['Stack', 'Ridge'],
    price: [29, 599],
    weight: [6500, 38000],
    attribute: { name: ['Boards', 'Böden'], values: ['3', '4', '5', '6'] },
    features: [
      ['adjustable boards', 'verstellbaren Böden'],
      ['a wall fixing', 'Wandbefestigung'],
      ['hidden screws', 'verdeckten Schrauben'],
      ['a back panel', 'Rückwand'],
    ],
  },
  {
    category: '221',
    noun: ['Table lamp', 'Tischleuchte'],
    shelf: ['Lamps > Table lamps', 'Lampen > Tischlampen'],
    brands: LIGHT,
    lines: ['Dusk', 'Mira'],
    price: [19, 249],
    weight: [600, 3400],
    attribute: { name: ['Socket', 'Fassung'], values: ['E14', 'E27', 'LED'] },
    features: [
      ['a dimmer', 'Dimmer'],
      ['a shade of blown glass', 'Schirm aus mundgeblasenem Glas'],
      ['warm white light', 'warmweißem Licht'],
      ['a fabric cable', 'Textilkabel'],
    ],
  },
  {
    category: '222',
    noun: ['Pendant lamp', 'Pendelleuchte'],
    shelf: ['Lamps > Ceiling', 'Lampen > Decke'],
    brands: LIGHT,
    lines: ['Orbit', 'Halo'],
    price: [39, 499],
    weight: [900, 7200],
    attribute: { name: ['Diameter', 'Durchmesser'], values: ['20 cm', '35 cm', '50 cm'] },
    features: [
      ['glare-free light', 'blendfreiem Licht'],
      ['a height that can be set', 'einstellbarer Höhe'],
      ['a brass canopy', 'Baldachin aus Messing'],
      ['a replaceable light source', 'wechselbarem Leuchtmittel'],
    ],
  },
  {
    category: '231',
    noun: ['Coffee machine', 'Kaffeemaschine'],
    shelf: ['Kitchen > Coffee', 'Küche > Kaffee'],
    brands: COOKING,
    lines: ['Barista', 'Crema', 'Morning'],
    price: [49, 999],
    weight: [1900, 11500],
    attribute: { name: ['Pressure', 'Druck'], values: ['9 bar', '15 bar', '19 bar'] },
    features: [
      ['a conical grinder', 'Kegelmahlwerk'],
      ['a milk frother', 'Milchaufschäumer'],
      ['a removable tank', 'abnehmbarem Tank'],
      ['a self-cleaning programme', 'Selbstreinigung'],
    ],
  },
  {
    category: '232',
    noun: ['Frying pan', 'Bratpfanne'],
    shelf: ['Kitchen > Pots & pans', 'Küche > Töpfe & Pfannen'],
    brands: COOKING,
    lines: ['Ember', 'Daily'],
    price: [19, 199],
    weight: [700, 3100],
    attribute: { name: ['Diameter', 'Durchmesser'], values: ['20 cm', '24 cm', '28 cm', '32 cm'] },
    features: [
      ['a base for induction', 'Boden für Induktion'],
      ['a riveted handle', 'genietetem Griff'],
      ['a coating without PFAS', 'Beschichtung ohne PFAS'],
      ['a pouring rim', 'Schüttrand'],
    ],
  },
  {
    category: '241',
    noun: ['Barbecue', 'Grill'],
    shelf: ['Garden > Barbecues', 'Garten > Grills'],
    brands: ['Glutwerk', 'Savello', 'Millbrook'],
    lines: ['Ranch', 'Patio'],
    price: [59, 1299],
    weight: [4200, 58000],
    attribute: { name: ['Burners', 'Brenner'], values: ['1', '2', '3', '4'] },
    features: [
      ['a cast-iron grate', 'Gussrost'],
      ['a thermometer in the lid', 'Deckelthermometer'],
      ['two large wheels', 'zwei großen Rädern'],
      ['a side table', 'Seitentisch'],
    ],
  },
];
