import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { ArgsDef } from "citty";
import { connectionOf, profileName, saveProfile, withClient } from "./connection.ts";
import { command, option } from "./define-command.ts";
import { say } from "./output.ts";
import { failOnSignal } from "./signals.ts";

const loginArgs: ArgsDef = {
  url: option(
    "The address of the service. Without it, SVC_URL, then the profile default (http://127.0.0.1:7400).",
    "URL",
  ),
  profile: option("The name of the profile (SVC_PROFILE, default).", "NAME"),
};

async function readHidden(prompt: string): Promise<string> {
  process.stderr.write(prompt);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  // Without echo, the terminal sends Ctrl+C as a character instead of a signal.
  lines.once("SIGINT", () => process.emit("SIGINT"));
  let typed = "";
  for await (const line of lines) {
    typed = line;
    break;
  }
  process.stderr.write("\n");
  return typed;
}

export const login = command(
  "login",
  "It reads the key from stdin; on a terminal it asks for it. Commands such as call then use the profile.",
  loginArgs,
  async (args) => {
    const name = profileName(args) ?? "default";
    const connection = connectionOf(args, null);
    failOnSignal("login was stopped; no key was saved");
    const typed = process.stdin.isTTY
      ? await readHidden(`The API key for ${connection.url}: `)
      : await text(process.stdin);
    const apiKey = typed.trim();
    const checked = { ...connection, apiKey, keySource: "the key on stdin" };
    const { user, organization } = await withClient(checked, ({ me }) => me.get());
    saveProfile(name, connection.url, apiKey);
    say(`Saved the profile ${name}: ${user.name}, ${user.role} of ${organization.name}.`);
  },
);
