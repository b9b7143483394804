import { TestApp } from '../support/app';
import { NOW } from './voucher-network';

/** One application for the tests of a file, with clients of it; each test begins at `NOW`. */
export function worldOf<Client extends object>(
  network: Parameters<TestApp['import']>[0],
  clientOf: (app: () => TestApp) => Client,
) {
  let app: TestApp;
  let now = NOW;
  beforeAll(async () => {
    app = await TestApp.start({ network, now: () => new Date(now) });
  });
  afterEach(() => {
    now = NOW;
  });
  afterAll(() => app.close());
  return {
    ...clientOf(() => app),
    get app(): TestApp {
      return app;
    },
    passTo: (time: number): void => {
      now = time;
    },
  };
}
