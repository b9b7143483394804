import { plantedErrors } from '../operations/planted-errors';
import { World } from '../projector/world';
import { ownStore } from './server';

const elsewhere = ownStore();
afterAll(() => elsewhere.remove());

describe('over Elasticsearch', () => plantedErrors(() => World.open(elsewhere.url), 1));
