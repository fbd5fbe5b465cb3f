import { once } from "node:events";
import { type ClientRequest, get } from "node:http";
import { WebSocket } from "ws";

/** Commands of the bench to the process that reads its streams. */
export interface Read {
  readonly open: "websocket" | "sse";
  readonly url: string;
  readonly key: string;
  readonly times: number;
  /** Only messages that contain this text are reported. */
  readonly holds: string;
}
/**
 * When a message arrived, by the clock that all processes of the machine share. With `open`: when the streams were
 * open.
 */
export interface Arrived {
  readonly open?: true;
  readonly ms: number;
}

const streams: (WebSocket | ClientRequest)[] = [];
const ms = () => Number(process.hrtime.bigint()) / 1e6;
const tell = (arrived: Arrived) => void process.send?.(arrived);

async function open({ open, url, key, holds }: Read): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const look = (text: string) => {
    const at = ms();
    if (text.includes(holds)) tell({ ms: at });
  };
  if (open === "websocket") {
    const socket = new WebSocket(url.replace("http", "ws"), { headers });
    streams.push(socket);
    socket.on("message", (data) => look(String(data)));
    await once(socket, "ping");
    return;
  }
  const request = get(url, { headers, agent: false });
  streams.push(request);
  const [response] = await once(request, "response");
  response.on("data", (chunk: Buffer) => look(String(chunk)));
  response.on("error", () => {});
  await once(response, "data");
}

process.on("message", async (asked: Read) => {
  for (let i = 0; i < asked.times; i += 50)
    await Promise.all(Array.from({ length: Math.min(50, asked.times - i) }, () => open(asked)));
  tell({ open: true, ms: ms() });
});
process.on("disconnect", () => process.exit());
tell({ ms: ms() });
