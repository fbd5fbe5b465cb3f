import { type ExecFileException, execFile } from "node:child_process";
import { promisify } from "node:util";
import * as v from "valibot";
import { parseJson } from "../../kernel/text/json.ts";

const execute = promisify(execFile);
const timeout_ms = 10_000;
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

async function run(file: string, input: string): Promise<{ code: number; text: string }> {
  const asked = execute(file, ["get"], { timeout: timeout_ms, killSignal: "SIGKILL" });
  // If the helper exits early, it does not read its input.
  asked.child.stdin?.on("error", () => {}).end(`${input}\n`);
  try {
    return { code: 0, text: (await asked).stdout };
  } catch (error) {
    const { code, killed, stdout, message } = error as ExecFileException & { readonly stdout: string };
    if (typeof code === "number") return { code, text: stdout };
    if (killed) throw new Error(`it did not answer within ${timeout_ms / 1000} s`);
    throw new Error(code === "ENOENT" ? "it is not installed" : message);
  }
}
