import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/* Loaded at their first use, because few requests need them: a start is then shorter, and takes less memory. */
export const dns = () => require("node:dns/promises") as typeof import("node:dns/promises");
export const https = () => require("node:https") as typeof import("node:https");
export const webStreams = () => require("node:stream/web") as typeof import("node:stream/web");
export const workerThreads = () => require("node:worker_threads") as typeof import("node:worker_threads");
export const zlib = () => require("node:zlib") as typeof import("node:zlib");
