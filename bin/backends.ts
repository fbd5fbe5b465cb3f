import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { Settings } from "../lib/config/parse-options.ts";
import { createOutbound } from "../lib/drivers/outbound/outbound.ts";

type Backend = Settings["generations"]["backends"][string];

/** For each type, a request that runs no model and so costs nothing. */
const freeRequests = {
  openai: "/models",
  predictions: "/account",
  sdcpp: "/sdcpp/v1/capabilities",
  openrouter: "/key",
} as const;

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** Checks that a backend answers and accepts its key, or that its program exists. */
export async function checkBackend(name: string, backend: Backend): Promise<string> {
  const option = `generations.backends.${name}`;
  if (backend.type === "command") {
    const [program = ""] = backend.command;
    const folders = program.includes("/") ? [""] : (process.env["PATH"] ?? "").split(delimiter);
    const path = folders.map((folder) => (folder ? join(folder, program) : resolve(program))).find(isProgram);
    if (!path) throw new Error(`${program} is not a program here; install it, or correct ${option}.command`);
    return `${path} is a program`;
  }
  const { type, url, key } = backend;
  const outbound = createOutbound({ mode: "start" });
  const { status, error } = await outbound.callBackend({
    method: "GET",
    url: `${url.replace(/\/+$/, "")}${freeRequests[type]}`,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    trustedOrigins: [new URL(url).origin],
    max_bytes: 16 * 1024 * 1024,
    timeout_ms: 5_000,
  });
  await outbound.close();
  if (status === null) throw new Error(`${url} does not answer: ${error}; start the server, or correct ${option}.url`);
  if (status === 401 || status === 403)
    throw new Error(`${url} answers ${status}; ${key === undefined ? "set" : "correct"} ${option}.key`);
  if (status >= 500) throw new Error(`${url} answers ${status}; read that server's log`);
  return `${url} answers${key === undefined ? " without a key" : " and accepts the key"}`;
}
