import { type CategoryDefinition } from '../../../src/network/events';

/** A department store tree: two spaces per level, then English | German. */
const TREE = `
Electronics | Elektronik
  Televisions | Fernseher
  Headphones | Kopfhörer
  Loudspeakers | Lautsprecher
  Turntables | Plattenspieler
  Digital cameras | Digitalkameras
  Camera lenses | Objektive
  Smartphones | Smartphones
  Phone cases | Handyhüllen
  Smart watches | Smartwatches
  Games consoles | Spielekonsolen
  Video games | Videospiele
Computers | Computer
  Laptops | Notebooks
  Tablets | Tablets
  Computer monitors | Monitore
  Keyboards and mice | Tastaturen und Mäuse
  Printers and scanners | Drucker und Scanner
  Ink cartridges | Druckerpatronen
  Hard drives | Festplatten
  Routers and networking | Router und Netzwerk
Household appliances | Haushaltsgeräte
  Washing machines | Waschmaschinen
  Tumble dryers | Wäschetrockner
  Dishwashers | Geschirrspüler
  Refrigerators | Kühlschränke
  Freezers | Gefrierschränke
  Ovens | Backöfen
  Vacuum cleaners | Staubsauger
  Irons | Bügeleisen
  Coffee machines | Kaffeemaschinen
  Kettles | Wasserkocher
  Toasters | Toaster
Furniture | Möbel
  Sofas | Sofas
  Armchairs | Sessel
  Dining tables | Esstische
  Office chairs | Bürostühle
  Bookcases | Bücherregale
  Wardrobes | Kleiderschränke
  Beds | Betten
  Mattresses | Matratzen
  Chests of drawers | Kommoden
Home textiles | Heimtextilien
  Curtains | Vorhänge
  Rugs | Teppiche
  Bed linen | Bettwäsche
  Towels | Handtücher
  Cushions | Kissen
Lighting | Beleuchtung
  Table lamps | Tischleuchten
  Floor lamps | Stehleuchten
  Ceiling lamps | Deckenleuchten
  Light bulbs | Glühbirnen
Kitchenware | Küchenbedarf
  Frying pans | Bratpfannen
  Saucepans | Kochtöpfe
  Kitchen knives | Küchenmesser
  Cutlery | Besteck
  Drinking glasses | Trinkgläser
Garden | Garten
  Lawn mowers | Rasenmäher
  Garden hoses | Gartenschläuche
  Barbecues | Grills
  Garden furniture | Gartenmöbel
  Flower pots | Blumentöpfe
  Seeds | Saatgut
Tools | Werkzeug
  Cordless drills | Akkuschrauber
  Hammers | Hämmer
  Screwdrivers | Schraubendreher
  Saws | Sägen
  Paint brushes | Malerpinsel
Women's clothing | Damenmode
  Dresses | Kleider
  Skirts | Röcke
  Blouses | Blusen
  Women's coats | Damenmäntel
  Women's trousers | Damenhosen
Men's clothing | Herrenmode
  Suits | Anzüge
  Men's shirts | Herrenhemden
  Men's trousers | Herrenhosen
  Ties | Krawatten
  Men's jackets | Herrenjacken
Shoes | Schuhe
  Trainers | Turnschuhe
  Boots | Stiefel
  Sandals | Sandalen
  Slippers | Hausschuhe
  High heels | Pumps
Accessories | Accessoires
  Handbags | Handtaschen
  Wallets | Geldbörsen
  Belts | Gürtel
  Sunglasses | Sonnenbrillen
  Scarves | Schals
  Gloves | Handschuhe
Jewellery | Schmuck
  Necklaces | Halsketten
  Earrings | Ohrringe
  Wrist watches | Armbanduhren
  Bracelets | Armbänder
Beauty | Schönheit
  Perfume | Parfüm
  Lipstick | Lippenstifte
  Shampoo | Shampoo
  Face cream | Gesichtscreme
  Electric toothbrushes | Elektrische Zahnbürsten
Baby | Baby
  Pushchairs | Kinderwagen
  Nappies | Windeln
  Cots | Babybetten
  Child car seats | Kindersitze
Toys | Spielzeug
  Board games | Brettspiele
  Dolls | Puppen
  Building blocks | Bausteine
  Jigsaw puzzles | Puzzles
  Soft toys | Kuscheltiere
Sports | Sport
  Bicycles | Fahrräder
  Bicycle helmets | Fahrradhelme
  Running shoes | Laufschuhe
  Tents | Zelte
  Sleeping bags | Schlafsäcke
  Rucksacks | Rucksäcke
  Yoga mats | Yogamatten
  Footballs | Fußbälle
  Skis | Ski
Pets | Haustiere
  Dog food | Hundefutter
  Cat litter | Katzenstreu
  Aquariums | Aquarien
Car | Auto
  Car tyres | Autoreifen
  Engine oil | Motoröl
  Car batteries | Autobatterien
Office | Büro
  Pens | Kugelschreiber
  Printer paper | Druckerpapier
  Desks | Schreibtische
Travel | Reise
  Suitcases | Koffer
  Travel adapters | Reiseadapter
`;

/** The tree with all names. */
export function sampleTree(): readonly CategoryDefinition[] {
  return treeIn(TREE, ['en', 'de']);
}

/** Parses a tree of two levels, one category per line with its names in these languages. */
export function treeIn(text: string, languages: readonly string[]): readonly CategoryDefinition[] {
  let root: string | null = null;
  return linesOf(text).map((line, index) => {
    const isRoot = !line.startsWith(' ');
    const names = line.split('|').map((name, at) => [languages[at] ?? '', name.trim()] as const);
    const id = String(index + 1);
    if (isRoot) root = id;
    return { id, parentId: isRoot ? null : root, names: Object.fromEntries(names) };
  });
}

/** Lines that are not blank. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}
