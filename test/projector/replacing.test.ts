import { PROJECTIONS } from '../../projections/index';
import { START } from '../../src/kernel/event';
import { golden } from '../support/golden';

const toldOf = (type: string) => {
  const { stream, event } = golden(type);
  return { ...event, stream, position: START };
};

const REPLACING = PROJECTIONS.flatMap((projection) =>
  (projection.replaces ?? []).map((type) => [projection.collection.name, type, projection] as const),
);

describe('events for which a document is not read first', () => {
  test.each(REPLACING)('%s: %s leaves it whatever it was before', (_, type, projection) => {
    const event = toldOf(type);
    const alone = projection.fold(undefined, event);
    for (const earlier of projection.handles) {
      const before = projection.fold(undefined, toldOf(earlier));
      expect(projection.fold(before, event)).toEqual(alone);
    }
  });

  test('are handled by their projection', () => {
    expect(REPLACING.length).toBeGreaterThan(0);
    for (const [, type, { handles }] of REPLACING) expect(handles).toContain(type);
  });
});
