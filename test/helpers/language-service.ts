import { spawn } from "node:child_process";
import type { TestContext } from "node:test";
import { pathToFileURL } from "node:url";

/** A position in a file, counted from 0. */
export interface Place {
  readonly line: number;
  readonly character: number;
}

/** TypeScript's language service, as editors start it. It returns what an editor shows at a position of a file. */
export function startLanguageService(t: TestContext) {
  const child = spawn(process.execPath, ["node_modules/typescript/bin/tsc", "--lsp", "--stdio"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill());
  const waiting = new Map<number, { done(result: unknown): void; refuse(error: Error): void }>();
  let received = Buffer.alloc(0);
  let last = 0;
  const send = (message: object) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const ask = (method: string, params: object) => {
    const id = ++last;
    send({ id, method, params });
    return new Promise<unknown>((done, refuse) => waiting.set(id, { done, refuse }));
  };
  const take = (message: { id?: number; method?: string; result?: unknown; error?: { message: string } }) => {
    const { id, method, result, error } = message;
    if (id === undefined) return;
    // A request from the server, for example for settings: answered with null.
    if (method !== undefined) return send({ id, result: null });
    if (error) waiting.get(id)?.refuse(new Error(error.message));
    else waiting.get(id)?.done(result);
    waiting.delete(id);
  };
  child.stdout.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const end = received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(received.subarray(0, end).toString())?.[1]);
      if (received.length < end + 4 + length) return;
      const body = received.subarray(end + 4, end + 4 + length).toString();
      received = received.subarray(end + 4 + length);
      take(JSON.parse(body));
    }
  });
  child.once("exit", (code) => {
    for (const { refuse } of waiting.values()) refuse(new Error(`the language service ended with ${code}`));
  });
  return {
    /**
     * Opens a file with this text, which need not exist on disk. Returns a function that asks what an editor shows at a
     * position.
     */
    async open(path: string, text: string) {
      const rootUri = pathToFileURL(process.cwd()).href;
      const uri = pathToFileURL(path).href;
      await ask("initialize", { processId: process.pid, rootUri, capabilities: {} });
      send({ method: "initialized", params: {} });
      send({
        method: "textDocument/didOpen",
        params: { textDocument: { uri, languageId: "typescript", version: 1, text } },
      });
      return {
        async hover(position: Place): Promise<string> {
          const shown = (await ask("textDocument/hover", { textDocument: { uri }, position })) as {
            contents: string | { value: string };
          } | null;
          const contents = shown?.contents ?? "";
          return typeof contents === "string" ? contents : contents.value;
        },
        async completions(position: Place): Promise<string[]> {
          const shown = (await ask("textDocument/completion", { textDocument: { uri }, position })) as {
            items: { label: string }[];
          } | null;
          return shown?.items.map(({ label }) => label) ?? [];
        },
      };
    },
  };
}
