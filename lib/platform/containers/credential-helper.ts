import { spawn } from "node:child_process";
import * as v from "valibot";
import { systemTimer } from "../../kernel/clock.ts";
import { parseJson } from "../../kernel/text/json.ts";

const timeout = "10s";
const maxAnswer = 64 * 1024;
const helperName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const answer = v.object({ Username: v.string(), Secret: v.string() });

/** Asks a Docker credential helper for a registry's credential; undefined if it has none. Rejects with the reason. */
export async function askCredentialHelper(
  helper: string,
  server: string,
): Promise<{ username: string; password: string } | undefined> {
  if (!helperName.test(helper)) throw new Error("this is not the name of a credential helper");
  const { code, text } = await run(`docker-credential-${helper}`, server);
  if (code !== 0) {
    if (/credentials not found/i.test(text)) return undefined;
    throw new Error(`it ended with the exit code ${code}: ${text.trim().slice(0, 200)}`);
  }
  const parsed = v.safeParse(answer, parseJson(text));
  if (!parsed.success) throw new Error("its answer names no user and no secret");
  const { Username: username, Secret: password } = parsed.output;
  if (username === "<token>") throw new Error("it answered an identity token, which is not supported");
  return { username, password };
}

function run(file: string, input: string): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, ["get"], { stdio: ["pipe", "pipe", "ignore"] });
    const cancel = systemTimer(timeout, () => {
      child.kill("SIGKILL");
      child.stdout.destroy();
      reject(new Error(`it did not answer within ${timeout}`));
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      if (text.length < maxAnswer) text += chunk;
    });
    child.once("error", ({ message }) => {
      cancel();
      reject(new Error(/ENOENT/.test(message) ? "it is not installed" : message));
    });
    child.once("close", (code) => {
      cancel();
      resolve({ code, text });
    });
    // If the helper exits early, it does not read its input.
    child.stdin.on("error", () => {}).end(`${input}\n`);
  });
}
