import type { ProtectionName } from "../../lib/drivers/box/protections.ts";
import { lacks, type Running } from "./running-apps.ts";

/** Skips a test, with the reason, where the machine lacks a part of the box. */
export const needs = (...parts: ProtectionName[]) => ({ skip: parts.map(lacks).find((one) => one !== false) ?? false });

/** A program that answers `GET /?CODE` with what the code answers. */
const obeying = `
const { createServer } = require("node:http");
const net = require("node:net"), fs = require("node:fs"), { spawnSync } = require("node:child_process");
createServer(async (request, response) => {
  const code = decodeURIComponent(request.url.slice(2));
  const answer = await Promise.resolve().then(() => eval(code)).catch((error) => error.code ?? error.message);
  response.end(String(answer ?? ""));
}).listen(process.env.PORT, process.env.HOST);
`;
/** A repository of that program. */
export const obeyingApp = { "svc.json": { start: "node server.js" }, "server.js": obeying };
/** Lets an app run code, and answers what it came to. */
export const runIn = async (here: Running, code: string, name = "production-web.localhost") =>
  (await here.ask(name, `/?${encodeURIComponent(code)}`)).replace(/^200 /, "");
