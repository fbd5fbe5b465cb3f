import type { ProtectionName } from "../../lib/drivers/deployment/protections.ts";
import { lacks, type Running } from "./running-apps.ts";

/** Skips a test, with the reason, if the machine lacks a protection. */
export const needs = (...parts: ProtectionName[]) => ({ skip: parts.map(lacks).find((one) => one !== false) ?? false });

/** The same for tests that root must run, with what root does in them. */
export const needsRoot = (does: string, ...parts: ProtectionName[]) =>
  process.getuid?.() === 0 ? needs(...parts) : { skip: `it needs root, who ${does}` };

/** A program that evaluates the code in `GET /?CODE` and answers with the result. */
const obeying = `
const { createServer } = require("node:http");
const net = require("node:net"), fs = require("node:fs"), { spawnSync } = require("node:child_process");
createServer(async (request, response) => {
  const code = decodeURIComponent(request.url.slice(2));
  const answer = await Promise.resolve().then(() => eval(code)).catch((error) => error.code ?? error.message);
  response.end(String(answer ?? ""));
}).listen(process.env.PORT, process.env.HOST);
`;
/** A repository with that program. */
export const obeyingApp = { "svc.json": { start: "node server.js" }, "server.js": obeying };
/** Runs code in an app; returns the result. */
export const runIn = async (here: Running, code: string, name = "production-web.localhost") =>
  (await here.ask(name, `/?${encodeURIComponent(code)}`)).replace(/^200 /, "");
