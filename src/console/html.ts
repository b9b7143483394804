/** A piece of a page, written as it is. */
export class Html {
  constructor(readonly text: string) {}
}

/** What a page is made of; undefined and false are nothing. */
export type Piece = Html | string | number | false | undefined | readonly Piece[];

/** Makes a piece of a page; what is inserted is escaped, in text and in quoted attributes, unless it is one itself. */
export function markup(fixed: TemplateStringsArray, ...inserted: readonly Piece[]): Html {
  return new Html(fixed.map((text, at) => text + textOf(inserted[at])).join(''));
}

function textOf(piece: Piece): string {
  if (piece === undefined || piece === false) return '';
  if (piece instanceof Html) return piece.text;
  if (typeof piece === 'object') return piece.map(textOf).join('');
  return String(piece).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
