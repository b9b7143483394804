import { type Template } from './template';
import { type Place } from './encodings';

/** The context of the next character; a quote is the value of an attribute in such quotes. */
type Context = 'text' | 'tag' | '"' | "'" | 'comment' | 'cdata' | 'instruction';

/** What begins in text, the longest first. */
const BEGINNINGS = [
  ['<![CDATA[', 'cdata'],
  ['<!--', 'comment'],
  ['<?', 'instruction'],
  ['<', 'tag'],
] as const;

/** What ends a context. */
const ENDS = {
  comment: ['-->', 'text'],
  cdata: [']]>', 'text'],
  instruction: ['?>', 'text'],
  '"': ['"', 'tag'],
  "'": ["'", 'tag'],
} as const;

/**
 * The places of the parts of a template in XML, undefined where no value may stand: names, comments, instructions. Whether the
 * template is well-formed is not checked.
 */
export function xmlPlaces(template: Template): readonly (Place | undefined)[] {
  let context: Context = 'text';
  return template.map((part) => {
    if (part.is === 'text') context = contextAfter(part.text, context);
    if (context === 'cdata') return 'xml cdata';
    return context === 'text' || context === '"' || context === "'" ? 'xml' : undefined;
  });
}

function contextAfter(text: string, start: Context): Context {
  let context = start;
  for (let at = 0; at < text.length;) {
    const next = nextContext(text, at, context);
    if (next === undefined) return context;
    [at, context] = next;
  }
  return context;
}

/** Where the context ends, and the one that follows. */
function nextContext(text: string, at: number, context: Context): readonly [number, Context] | undefined {
  if (context === 'text') {
    const begin = text.indexOf('<', at);
    const found = BEGINNINGS.find(([beginning]) => text.startsWith(beginning, begin));
    return begin < 0 || found === undefined ? undefined : [begin + found[0].length, found[1]];
  }
  if (context === 'tag') {
    const end = text.slice(at).search(/[>"']/);
    if (end < 0) return undefined;
    const character = text[at + end];
    return [at + end + 1, character === '"' || character === "'" ? character : 'text'];
  }
  const [end, next] = ENDS[context];
  const found = text.indexOf(end, at);
  return found < 0 ? undefined : [found + end.length, next];
}
