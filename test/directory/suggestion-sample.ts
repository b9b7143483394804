import { type CategoryDefinition } from '../../src/directory/events';

/** A tree of a department store: the level by two blanks, then English | German. */
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

/** Names of advertisers, and after each arrow the English name of the category that is meant. */
const NAMES = `
Television => Televisions
TVs & Home Cinema > LED TV => Televisions
TV-Geräte => Televisions
Fernsehgeräte > 55 Zoll Fernseher => Televisions
Headphone => Headphones
Over-ear headphones => Headphones
Audio > Earphones => Headphones
Bluetooth-Kopfhörer => Headphones
Speakers => Loudspeakers
Hi-Fi > Speaker, Bluetooth => Loudspeakers
Audio & HiFi > Lautsprecherboxen => Loudspeakers
Record players / turntable => Turntables
Plattenspieler & Zubehör => Turntables
Camera, digital => Digital cameras
Photo > Compact cameras => Digital cameras
Foto > Digitalkamera => Digital cameras
Lenses for cameras => Camera lenses
Kamera-Objektiv => Camera lenses
Mobile phones => Smartphones
Handys ohne Vertrag => Smartphones
Telecom > Smartphone => Smartphones
Cases for phones => Phone cases
Handyhülle => Phone cases
Hüllen für Handys => Phone cases
Watches, smart => Smart watches
Wearables > Smartwatch => Smart watches
Consoles for games => Games consoles
Gaming > Spielekonsole => Games consoles
Games for PC and console > Video game => Video games
Videospiel => Video games
Notebook => Laptops
Laptop computers 15 inch => Laptops
PC & Mac > Ultrabooks => Laptops
Tablet => Tablets
Tablet-PC => Tablets
Monitors => Computer monitors
PC-Bildschirme => Computer monitors
Displays for computers => Computer monitors
Keyboard => Keyboards and mice
Maus und Tastatur => Keyboards and mice
Computer mice => Keyboards and mice
Scanner & printer => Printers and scanners
Laserdrucker => Printers and scanners
Cartridges, ink => Ink cartridges
Patronen für Drucker => Ink cartridges
Drives > Hard drive => Hard drives
Externe Festplatte => Hard drives
Network > Router => Routers and networking
WLAN-Router => Routers and networking
Washing machine => Washing machines
Machines for washing => Washing machines
Haushalt > Waschmaschine Frontlader => Washing machines
Dryers > Tumble dryer => Tumble dryers
Trockner für Wäsche => Tumble dryers
Dishwasher => Dishwashers
Geschirrspülmaschinen => Dishwashers
Fridges => Refrigerators
Kitchen appliances > Fridge => Refrigerators
Kühlschrank => Refrigerators
Kühlgeräte > Freistehender Kühlschrank => Refrigerators
Freezer => Freezers
Gefriertruhen und Gefrierschrank => Freezers
Built-in oven => Ovens
Einbaubackofen => Ovens
Hoovers => Vacuum cleaners
Cleaners > Vacuum => Vacuum cleaners
Bodenstaubsauger => Vacuum cleaners
Steam iron => Irons
Dampfbügeleisen => Irons
Espresso machines => Coffee machines
Machines, coffee => Coffee machines
Kaffeevollautomat => Coffee machines
Kaffeemaschine => Coffee machines
Electric kettle => Kettles
Wasserkocher aus Glas => Kettles
Toaster 2 slices => Toasters
Couches => Sofas
Living room > Couch => Sofas
Schlafsofa => Sofas
Wohnzimmer > Sofas & Couches => Sofas
Arm chair => Armchairs
Ohrensessel => Armchairs
Tables > Dining table => Dining tables
Esstisch ausziehbar => Dining tables
Chairs for the office => Office chairs
Bürostuhl ergonomisch => Office chairs
Shelves > Bookcase => Bookcases
Bücherregal => Bookcases
Closets => Wardrobes
Schlafzimmer > Kleiderschrank => Wardrobes
Bedroom > Double bed => Beds
Doppelbett => Beds
Mattress => Mattresses
Kaltschaummatratze => Mattresses
Drawers, chest of => Chests of drawers
Kommode weiß => Chests of drawers
Drapes => Curtains
Gardinen & Vorhänge => Curtains
Curtain => Curtains
Carpets => Rugs
Teppich => Rugs
Wohnaccessoires > Läufer & Teppich => Rugs
Bedding => Bed linen
Bettwäsche-Set => Bed linen
Linen for beds => Bed linen
Bath towel => Towels
Handtuch => Towels
Pillows => Cushions
Sofakissen => Cushions
Lamps > Lamp for tables => Table lamps
Tischlampe => Table lamps
Lights > Table light => Table lamps
Stehlampe => Floor lamps
Floor lights => Floor lamps
Deckenlampe => Ceiling lamps
Ceiling lights => Ceiling lamps
LED bulb => Light bulbs
Leuchtmittel > Glühbirne LED => Light bulbs
Pan, frying => Frying pans
Bratpfanne beschichtet => Frying pans
Pots > Saucepan => Saucepans
Kochtopf-Set => Saucepans
Knives => Kitchen knives
Küchenmesser-Set => Kitchen knives
Messer für die Küche => Kitchen knives
Cutlery set => Cutlery
Besteckset 24-teilig => Cutlery
Glasses for drinking => Drinking glasses
Trinkglas => Drinking glasses
Mowers => Lawn mowers
Outdoor > Lawnmower => Lawn mowers
Rasenroboter & Rasenmäher => Lawn mowers
Hose, garden => Garden hoses
Gartenschlauch => Garden hoses
BBQ => Barbecues
Gasgrill => Barbecues
Outdoor > Grills & BBQs => Barbecues
Furniture for the garden => Garden furniture
Gartenmöbel-Set => Garden furniture
Pots for flowers => Flower pots
Blumentopf => Flower pots
Vegetable seed => Seeds
Drills > Cordless => Cordless drills
Akkubohrschrauber => Cordless drills
Hand tools > Hammer => Hammers
Screwdriver set => Screwdrivers
Schraubendreher-Set => Screwdrivers
Hand saw => Saws
Kreissäge => Saws
Brushes for painting => Paint brushes
Pinsel für Maler => Paint brushes
Ladies > Dress => Dresses
Abendkleid => Dresses
Damen > Sommerkleider => Dresses
Mini skirt => Skirts
Damen > Bekleidung > Röcke => Skirts
Bluse => Blouses
Ladies' blouse => Blouses
Coats, ladies => Women's coats
Mäntel für Damen => Women's coats
Trousers for women => Women's trousers
Damen > Hosen => Women's trousers
Women > Pants => Women's trousers
Business suit => Suits
Herren > Anzug => Suits
Shirts for men => Men's shirts
Herren > Hemden => Men's shirts
Gentlemen's shirt => Men's shirts
Pants for men => Men's trousers
Herren > Hose => Men's trousers
Necktie, tie => Ties
Krawatte Seide => Ties
Jackets for men => Men's jackets
Herren > Jacken => Men's jackets
Sneakers => Trainers
Footwear > Sneaker low => Trainers
Turnschuh => Trainers
Ankle boot => Boots
Damenstiefel => Boots
Winterstiefel => Boots
Sandal => Sandals
Sandale Leder => Sandals
House slipper => Slippers
Hausschuhe Filz => Slippers
Heels, high => High heels
Purses => Handbags
Handtasche => Handbags
Bags > Hand bag, leather => Handbags
Wallet, leather => Wallets
Geldbörse Leder => Wallets
Leather belt => Belts
Ledergürtel => Belts
Sonnenbrille => Sunglasses
Eyewear > Sunglass => Sunglasses
Shawls & scarf => Scarves
Wollschal => Scarves
Leather glove => Gloves
Lederhandschuhe => Gloves
Jewelry > Necklace, silver => Necklaces
Halskette Gold => Necklaces
Chains => Necklaces
Ear rings => Earrings
Ohrring Silber => Earrings
Watch for the wrist => Wrist watches
Uhren > Armbanduhr => Wrist watches
Bracelet => Bracelets
Armband Silber => Bracelets
Fragrances => Perfume
Düfte > Parfum => Perfume
Lip stick => Lipstick
Lippenstift matt => Lipstick
Hair care > Shampoos => Shampoo
Creams for the face => Face cream
Gesichtscremes => Face cream
Toothbrush, electric => Electric toothbrushes
Zahnbürste elektrisch => Electric toothbrushes
Strollers => Pushchairs
Baby > Buggies => Pushchairs
Kinderwagen & Buggys => Pushchairs
Diapers => Nappies
Windel Größe 4 => Nappies
Cribs => Cots
Babybett => Cots
Car seats for children => Child car seats
Kindersitz fürs Auto => Child car seats
Games > Board game => Board games
Brettspiel => Board games
Doll => Dolls
Puppe mit Zubehör => Dolls
Blocks for building => Building blocks
Jigsaws => Jigsaw puzzles
Puzzle 1000 Teile => Jigsaw puzzles
Cuddly toy, soft toy => Soft toys
Kuscheltier => Soft toys
Bikes => Bicycles
Cycling > Bike > Mountain bike => Bicycles
Fahrrad => Bicycles
Helmets for cycling => Bicycle helmets
Fahrradhelm => Bicycle helmets
Shoes for running => Running shoes
Damenlaufschuhe => Running shoes
Tent, 2 persons => Tents
Camping > Zelt => Tents
Sleepingbag => Sleeping bags
Schlafsack => Sleeping bags
Backpacks => Rucksacks
Wanderrucksack => Rucksacks
Mat for yoga => Yoga mats
Yogamatte rutschfest => Yoga mats
Football => Footballs
Fußball Größe 5 => Footballs
Alpine ski => Skis
Food for dogs => Dog food
Trockenfutter für Hunde => Dog food
Hundenassfutter => Dog food
Litter for cats => Cat litter
Aquarium 100 l => Aquariums
Tires => Car tyres
Winterreifen => Car tyres
Reifen fürs Auto => Car tyres
Oil for engines => Engine oil
Motorenöl 5W-30 => Engine oil
Battery, car => Car batteries
Autobatterie => Car batteries
Ballpoint pen => Pens
Kugelschreiber-Set => Pens
Paper for printers => Printer paper
Druckpapier A4 => Printer paper
Desk, height-adjustable => Desks
Schreibtisch Eiche => Desks
Luggage > Suitcase => Suitcases
Trolley-Koffer => Suitcases
Adapter for travelling => Travel adapters
`;

/** The tree, each category with its names. */
export function sampleTree(): readonly CategoryDefinition[] {
  let root: string | null = null;
  return linesOf(TREE).map((line, index) => {
    const isRoot = !line.startsWith(' ');
    const [en = '', de = ''] = line.split('|').map((name) => name.trim());
    const id = String(index + 1);
    if (isRoot) root = id;
    return { id, parentId: isRoot ? null : root, names: { en, de } };
  });
}

/** What advertisers call categories, and the English name of the one that is meant. */
export function sampleNames(): readonly { readonly name: string; readonly meant: string }[] {
  return linesOf(NAMES).map((line) => {
    const [name = '', meant = ''] = line.split(' => ');
    return { name, meant };
  });
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}
