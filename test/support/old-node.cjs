/** Preloaded, lets the program believe that it runs on an old Node.js, where no package can be loaded. */
const Module = require('node:module');

Object.defineProperty(process.versions, 'node', { value: '18.19.1' });
const load = Module._load;
Module._load = (request, ...others) => {
  if (!request.startsWith('.') && !request.startsWith('/')) throw new SyntaxError(`${request} was loaded`);
  return load(request, ...others);
};
