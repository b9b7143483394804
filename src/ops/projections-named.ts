import { PROJECTIONS } from '../../projections/index';
import { type Projection } from '../projector/projection';

/** There is no projection of this name; the message names those there are. */
class UnknownProjection extends Error {
  override readonly name = 'UnknownProjection';
}

/** The projection of this name, or `all` of them. Raises `UnknownProjection`. */
export function projectionsNamed(name: string): readonly Projection[] {
  const chosen = PROJECTIONS.filter(({ collection }) => name === 'all' || collection.name === name);
  if (chosen.length > 0) return chosen;
  const names = PROJECTIONS.map(({ collection }) => collection.name);
  throw new UnknownProjection(`${name} is no projection; there are: ${names.join(', ')}, all`);
}
