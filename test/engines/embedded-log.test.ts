import { openLog } from '../../src/engines/embedded/log/open-log';
import { eventLogContract } from '../contracts/event-log';
import { logFixture } from '../support/log-folder';

eventLogContract('SQLite in this thread', () => logFixture(openLog, false));
