import type { Client } from "pg";
import { systemTimer } from "../../kernel/clock.ts";
import { connectionConfig, type Driver } from "./driver.ts";

const channel = "svc_server";
/** Below PostgreSQL's limit of 8,000 bytes. */
const maxBytes = 7_900;
const backoff_ms = { first: 100, max: 1_000 };
/** Every `pause` a query checks the connection. If no result comes within `answer`, the connection is dropped. */
const heartbeat = { pause: "10s", answer: "5s" };

/**
 * SQL that sends a transaction's messages after its commit; `from` names the sender. NOTIFY locks the whole server
 * until its transaction commits, so the commit of the messages does not wait for the disk.
 */
export function sendingOf(messages: readonly string[], from: string, quote: (text: string) => string): string {
  const texts: string[] = [];
  let text = "";
  for (const message of new Set(messages)) {
    const one = `${from} ${message}`;
    if (Buffer.byteLength(one) > maxBytes) throw new Error("a message to other processes is too long");
    if (text && Buffer.byteLength(text) + Buffer.byteLength(message) + 1 <= maxBytes) text += `\n${message}`;
    else {
      if (text) texts.push(text);
      text = one;
    }
  }
  if (text) texts.push(text);
  if (texts.length === 0) return "";
  const sending = texts.map((payload) => `SELECT pg_notify('${channel}', ${quote(payload)});`).join(" ");
  return `BEGIN; SET LOCAL synchronous_commit = off; ${sending} COMMIT; `;
}

interface Ports {
  readonly driver: Driver;
  readonly url: string;
  /** The name of this process. Its own messages are ignored. */
  readonly own: string;
  /** Called when the connection is lost or cannot be opened. Other connections may be lost too. */
  readonly failed: () => void;
}

/**
 * Receives messages of other processes on its own connection. Calls `lost` when the connection is lost, after each
 * failed try to reconnect, and once it is back.
 */
export function createSignals({ driver, url, own, failed }: Ports) {
  let hear = (_: string) => {};
  let lost = () => {};
  let hasEnded = false;
  let current: Client | undefined;
  let wait_ms = backoff_ms.first;
  let cancelTimer = () => {};
  let begun: (() => void) | undefined;

  const again = (client: Client) => {
    if (client !== current) return;
    current = undefined;
    cancelTimer();
    void client.end().catch(() => {});
    if (hasEnded) return;
    failed();
    cancelTimer = systemTimer(wait_ms, open);
    wait_ms = Math.min(2 * wait_ms, backoff_ms.max);
    lost();
  };

  const beat = (client: Client) => {
    if (client !== current || hasEnded) return;
    cancelTimer = systemTimer(heartbeat.pause, () => {
      cancelTimer = systemTimer(heartbeat.answer, () => again(client));
      client.query("select 1").then(
        () => {
          cancelTimer();
          beat(client);
        },
        () => again(client),
      );
    });
  };

  const open = () => {
    const client: Client = new driver.Client(connectionConfig(url, `svc-server ${own} listener`, "reads"));
    current = client;
    client.on("error", () => again(client));
    client.on("end", () => again(client));
    client.on("notification", ({ payload = "" }) => {
      const [from, text] = [payload.slice(0, payload.indexOf(" ")), payload.slice(payload.indexOf(" ") + 1)];
      if (from !== own) for (const message of text.split("\n")) hear(message);
    });
    client
      .connect()
      .then(() => client.query(`listen ${channel}`))
      .then(() => {
        if (client !== current) return;
        wait_ms = backoff_ms.first;
        // Messages sent while disconnected are lost.
        if (begun) begun();
        else lost();
        begun = undefined;
        beat(client);
      })
      .catch(() => again(client));
  };

  return {
    /** Resolves once it is listening. */
    listen(given: typeof hear, onLost: typeof lost): Promise<void> {
      [hear, lost] = [given, onLost];
      return new Promise((resolve) => {
        begun = resolve;
        open();
      });
    },
    async end(): Promise<void> {
      hasEnded = true;
      cancelTimer();
      const client = current;
      current = undefined;
      await client?.end().catch(() => {});
    },
  };
}
