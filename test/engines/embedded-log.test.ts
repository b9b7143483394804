import { openLog } from '../../src/engines/embedded/log/open-log';
import { eventLogContract } from '../contracts/event-log';
import { triedLog } from '../support/log-folder';

eventLogContract('SQLite in this thread', () => triedLog(openLog, false));
