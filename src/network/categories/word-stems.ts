import { wordsOf } from '../../wire/words';

/** Synonyms, one group per line; similar spellings need no entry. */
const GROUPS = `
  sneaker trainer turnschuh
  laptop notebook ultrabook
  tv television fernseher fernsehgerat
  smartphone handy mobile cellphone mobiltelefon phone
  jumper sweater pullover pulli
  trousers pants hose
  hoodie kapuzenpullover sweatshirt
  handbag purse handtasche
  couch sofa
  cupboard wardrobe closet kleiderschrank schrank
  fridge refrigerator kuhlschrank
  hob cooktop kochfeld
  hoover vacuum staubsauger
  barbecue bbq grill
  bike bicycle cycle fahrrad rad
  stroller pushchair pram buggy kinderwagen
  nappy diaper windel
  cot crib kinderbett babybett
  perfume fragrance parfum duft scent
  makeup cosmetics kosmetik
  headphone earphone headset kopfhorer
  speaker loudspeaker lautsprecher box
  screen monitor display bildschirm
  lamp light leuchte lampe lighting
  rug carpet teppich
  curtain drape vorhang gardine
  cushion pillow kissen
  bedding linen bettwasche
  torch flashlight taschenlampe
  spanner wrench schraubenschlussel
  mower rasenmaher
  tyre tire reifen
  jewellery jewelry schmuck
  necklace chain halskette kette
  earring ohrring
  watch uhr armbanduhr
  spectacles glasses eyewear brille
  swimwear swimsuit bikini bademode badeanzug
  underwear lingerie unterwasche wasche
  boot stiefel
  backpack rucksack
  suitcase luggage koffer gepack
  toy spielzeug
  puzzle jigsaw
  pet haustier tier
  vitamin supplement nahrungserganzung
  women woman ladies lady damen frauen female
  men man gents herren manner male
  kid child children kinder junior
  baby infant saugling
  game gaming videospiel
  book buch
  stationery schreibwaren
  printer drucker
  camera kamera
  coffee kaffee espresso
  pan frying pfanne
  pot topf saucepan
  knife messer
  drill bohrmaschine
  garden gartnerei garten outdoor
  office buro
  sleeping schlaf
  desk schreibtisch
  chair stuhl seat
  table tisch
  shelf regal bookcase
  coat mantel
  jacket jacke
  shirt hemd
  skirt rock
  dress kleid
  sock socke
  glove handschuh
  scarf schal
  hat cap mutze
  belt gurtel
`;

/** Inflectional endings in English, German and related languages, longest first. */
const ENDINGS = ['innen', 'ern', 'ies', 'en', 'er', 'es', 'e', 'n', 's', 'x'] as const;
/** Minimum length of a stem. */
const MIN_STEM = 3;

/** A word, as returned by `wordsOf`, without its inflectional endings. Approximate. */
export function stemOf(word: string): string {
  return withoutEnding(withoutEnding(word));
}

function withoutEnding(word: string): string {
  const ending = ENDINGS.find((one) => word.endsWith(one) && word.length - one.length >= MIN_STEM);
  return ending === undefined ? word : word.slice(0, -ending.length);
}

/** Stems of the synonyms of a stem. */
export function synonymsOf(stem: string): readonly string[] {
  return SYNONYMS.get(stem) ?? [];
}

const SYNONYMS: ReadonlyMap<string, readonly string[]> = groupsOf(GROUPS);

function groupsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const line of text.trim().split('\n')) {
    const stems = [...new Set(wordsOf(line).map(stemOf))];
    for (const stem of stems)
      found.set(stem, [...(found.get(stem) ?? []), ...stems.filter((other) => other !== stem)]);
  }
  return found;
}
