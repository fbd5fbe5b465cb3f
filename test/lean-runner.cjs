// Loaded before `node:test`. To say which test an uncaught error came from, it follows every promise of the process: a
// fifth of the processor time of all tests. Here it knows the tests and suites themselves, which is enough to find the
// parent of a test. An uncaught error still fails its file, with its stack.
const hooks = require("node:async_hooks");
const { AsyncResource, createHook } = hooks;
let runner;
hooks.createHook = (callbacks) => {
  // The first caller is the runner, before any test.
  if (runner !== undefined) return createHook(callbacks);
  runner = callbacks;
  return { enable() {}, disable() {} };
};
hooks.AsyncResource = class extends AsyncResource {
  constructor(type, options) {
    super(type, options);
    runner?.init(this.asyncId(), type, 0, this);
  }
};
require("node:test");
hooks.AsyncResource = AsyncResource;
