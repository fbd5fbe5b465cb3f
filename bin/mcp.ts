import { version } from "../lib/kernel/version.ts";
import { connectionArgs, connectionOf } from "./connection.ts";
import { command } from "./define-command.ts";
import { createTools } from "./mcp-tools.ts";
import { note } from "./output.ts";
import { exitOnSignal } from "./signals.ts";

/** Loads the package of the protocol. It is not a dependency, because few users need it. */
async function loadProtocol() {
  try {
    const [server, stdio] = await Promise.all([
      import("@modelcontextprotocol/server"),
      import("@modelcontextprotocol/server/stdio"),
    ]);
    return { ...server, ...stdio };
  } catch (cause) {
    const message =
      'svc-server mcp needs the package @modelcontextprotocol/server. Run "npm install @modelcontextprotocol/server".';
    throw new Error(message, { cause });
  }
}

const maxMessage_bytes = 10_485_760;

/** Resolves when the transport has closed: after stdin ended, a message was too long, or stdout failed. */
const closed = (transport: { onclose?: (() => void) | undefined }) =>
  new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });

const text = (content: string) => [{ type: "text" as const, text: content }];

const { json: _, ...args } = connectionArgs;

export const mcp = command(
  "mcp",
  "It speaks the Model Context Protocol on stdin and stdout. Its tools are the operations of the service at --url, called with the key of the profile or of SVC_API_KEY. An emulator adds tools for its clock, forks, inbox and scenarios.",
  args,
  async (given) => {
    const { Server, ProtocolError, ProtocolErrorCode, serveStdio, StdioServerTransport } = await loadProtocol();
    const { url } = connectionOf(given);
    const tools = createTools(given);
    const instructions = `The tools call the service at ${url}. Lists have pages: for the next page, pass meta.next_cursor as cursor.`;
    exitOnSignal();
    let isHeard = true;
    process.stdout.once("error", () => {
      isHeard = false;
    });
    const transport = new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: maxMessage_bytes });
    serveStdio(
      () => {
        const server = new Server(
          { name: "svc-server", version: version() },
          { capabilities: { tools: {} }, instructions },
        );
        server.setRequestHandler("tools/list", async () => ({ tools: await tools.list() }));
        server.setRequestHandler("tools/call", async ({ params }, { mcpReq: { signal } }) => {
          const tool = tools.find(params.name);
          if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `no tool is called ${params.name}`);
          try {
            const answer = await tool.call(params.arguments ?? {}, signal);
            return { content: text(answer === undefined ? "Done." : JSON.stringify(answer)) };
          } catch (error) {
            return { content: text((error as Error).message), isError: true };
          }
        });
        return server;
      },
      // Stdout carries the protocol, so errors go to stderr.
      { transport, onerror: ({ message }) => note(message) },
    );
    await closed(transport);
    // The client stops the server by closing its stdin.
    if (process.stdin.readableEnded || process.stdin.destroyed) return;
    throw new Error(
      isHeard
        ? `the client sent a message of more than ${maxMessage_bytes / 1_048_576} MiB, so the server stops`
        : "the client no longer reads stdout, so the server stops",
    );
  },
);
