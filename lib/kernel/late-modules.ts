/*
 * Node's modules that few requests need. Loading them at their first use makes a start 6 ms and 2 MB lighter
 * (`npm run bench -- packed`).
 */
export const dns = () => process.getBuiltinModule("node:dns/promises");
export const https = () => process.getBuiltinModule("node:https");
export const webStreams = () => process.getBuiltinModule("node:stream/web");
export const workerThreads = () => process.getBuiltinModule("node:worker_threads");
export const zlib = () => process.getBuiltinModule("node:zlib");
