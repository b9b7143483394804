import { World } from '../projector/world';
import { plantedErrors } from './planted-errors';

describe('over SQLite', () => plantedErrors(() => World.open(), 5));
