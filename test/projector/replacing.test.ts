import { PROJECTIONS } from '../../projections';
import { START } from '../../src/kernel/event';
import { golden } from '../support/golden';

const parsedSample = (type: string) => {
  const { stream, event } = golden(type);
  return { ...event, stream, revision: 0, position: START };
};

const REPLACING = PROJECTIONS.flatMap((projection) =>
  (projection.replaces ?? []).map((type) => [projection.collection.name, type, projection] as const),
);

describe('event types that replace a document (`replaces`)', () => {
  test.each(REPLACING)(
    '%s: the document after %s does not depend on the one before',
    (_, type, projection) => {
      const event = parsedSample(type);
      const alone = projection.fold(undefined, event);
      for (const earlier of projection.handles) {
        const before = projection.fold(undefined, parsedSample(earlier));
        expect(projection.fold(before, event)).toEqual(alone);
      }
    },
  );

  test('are among the handled types', () => {
    expect(REPLACING.length).toBeGreaterThan(0);
    for (const [, type, { handles }] of REPLACING) expect(handles).toContain(type);
  });
});
