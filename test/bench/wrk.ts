import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Loaded, Round } from "./load.ts";
import { pinned } from "./processors.ts";

/** Whether wrk is installed. It needs only a few microseconds for a request, so the servers are the bottleneck. */
export const hasWrk = (): boolean => spawnSync("wrk", ["-v"]).error === undefined;

const run = promisify(execFile);

/** Lua reads all escapes of JSON except `\\u`, which no request of the bench contains. */
const quoted = (text: string) => JSON.stringify(text);

function script({ url, others = [], requests, keys, headers = {} }: Round): string {
  const { host } = new URL(url);
  const more = Object.entries({ ...("host" in headers ? {} : { host }), ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const heads = requests.map(({ path, body, key }) => {
    const text = body ? JSON.stringify(body) : "";
    const described = body ? `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n` : "";
    const head = `${body ? "POST" : "GET"} ${path} HTTP/1.1\r\n${more.join("")}${described}authorization: Bearer `;
    return { head, own: key ?? "", tail: `\r\n\r\n${text}` };
  });
  const list = (name: string, values: readonly string[]) => `local ${name} = {\n${values.map(quoted).join(",\n")}\n}\n`;
  const targets = [url, ...others].map((one) => new URL(one));
  return `${list(
    "heads",
    heads.map(({ head }) => head),
  )}${list(
    "own",
    heads.map(({ own }) => own),
  )}${list(
    "tails",
    heads.map(({ tail }) => tail),
  )}${list("keys", keys)}${list(
    "hosts",
    targets.map(({ hostname }) => hostname),
  )}${list(
    "ports",
    targets.map(({ port }) => port),
  )}
local threads, turn = 0, 0
function setup(thread)
  threads = threads + 1
  thread.addr = wrk.lookup(hosts[threads], ports[threads])[1]
end
function request()
  -- Steps of a prime, so that successive requests read distant rows.
  local at = (turn * 7919) % #heads + 1
  local key = own[at] ~= "" and own[at] or keys[turn % #keys + 1]
  turn = turn + 1
  return heads[at] .. key .. tails[at]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("%d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
`;
}

/**
 * One round, in whole seconds. Any error or unsuccessful response ends the bench. A round without a response counts as
 * 0 a second: on a busy machine the writes of 256 connections to one organization can outlast a round.
 */
export async function loadByWrk(round: Round, folder: string): Promise<Loaded> {
  const file = join(folder, "requests.lua");
  writeFileSync(file, script(round));
  const threads = 1 + (round.others?.length ?? 0);
  const words = [
    "-t",
    threads,
    "-c",
    Math.max(threads, round.connections ?? 32),
    "-d",
    `${Math.ceil(round.ms / 1000)}s`,
    "--timeout",
    "30s",
    "-s",
    file,
    round.url,
  ];
  const [program = "", ...before] = pinned("load", "wrk");
  const { stdout } = await run(program, [...before, ...words.map(String)]);
  const [requests = 0, us = 0, p50 = 0, p99 = 0, errors = 0] = (stdout.trim().split("\n").at(-1) ?? "")
    .split(" ")
    .map(Number);
  if (errors > 0 || us === 0) throw new Error(`${errors} of ${requests} requests failed:\n${stdout}`);
  if (requests === 0)
    return { requests, per_second: 0, p50_ms: Number.POSITIVE_INFINITY, p99_ms: Number.POSITIVE_INFINITY };
  return { requests, per_second: (requests / us) * 1e6, p50_ms: p50 / 1000, p99_ms: p99 / 1000 };
}
