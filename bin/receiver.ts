import { createOutbound } from "../lib/drivers/outbound/outbound.ts";
import { requestOf } from "../lib/features/deliveries/delivery-request.ts";
import { signedJson } from "../lib/features/deliveries/signed-json.ts";
import { createClock } from "../lib/kernel/clock.ts";
import { parseUrl } from "../lib/kernel/text/url.ts";
import { networksOf } from "../lib/kernel/trusted-networks.ts";
import { UsageError } from "./arguments.ts";
import type { ServiceEvent } from "./event-stream.ts";

interface Result {
  readonly result: string;
  readonly isAcknowledged: boolean;
}

/** The receiver's URL. `localhost:3000/webhooks` gets `http://`; `3000/webhooks` also gets `localhost:`. */
export function parseReceiver(text: string): string {
  const place = text.replace(/^:?(?=\d+(\/|$))/, "localhost:");
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(place) ? place : `http://${place}`;
  if (text === "" || !/^https?:$/.test(parseUrl(url)?.protocol ?? ""))
    throw new UsageError("option --forward-to must be a URL such as http://localhost:3000/webhooks, or a port");
  return url;
}

/** Errors of a receiver that may need the other protocol: `https` instead of `http`, or the reverse. */
const otherProtocol = /^(connection reset|not an HTTP answer|TLS: )/;

/** Posts events to a receiver the way an emulator does. The user may name any machine. */
export function createReceiver(to: string, secret: string) {
  const outbound = createOutbound({ mode: "dev", trusted: networksOf(["0.0.0.0/0", "::/0"]) });
  const clock = createClock("real");
  return {
    async post({ id, event, timestamp, data }: ServiceEvent, attempt: number): Promise<Result> {
      const settings = { config: { url: to }, secrets: { secret } };
      const body = JSON.stringify({ event, timestamp, data });
      const delivery = { id: id.replace(/^evt/, "dlv"), event, tries: attempt, target: "", body };
      const request = requestOf({ delivery, format: signedJson, settings }, clock.iso(), true);
      const { status, error } = await outbound.send({ ...request, isForwarded: true });
      const is = to.startsWith("https:") ? "http" : "https";
      const hint = otherProtocol.test(error ?? "") ? `; if the receiver speaks ${is}, write ${is}://` : "";
      return {
        result: status === null ? `${error}${hint}` : String(status),
        isAcknowledged: status !== null && status >= 200 && status < 300,
      };
    },
    close: () => outbound.close(),
  };
}
