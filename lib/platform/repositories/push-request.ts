/** A ref that a push wants to change. */
export interface RefUpdate {
  readonly ref: string;
  /** The new commit of the ref; undefined if the push deletes the ref. */
  readonly commit: string | undefined;
  /** The current commit of the ref; undefined for a new ref. */
  readonly before: string | undefined;
  /** Whether git has reported that it changed the ref. */
  readonly isStored?: boolean;
}

/** The first part of a push, which precedes the pack. */
export interface PushRequest {
  readonly updates: readonly RefUpdate[];
  /** From `git push -o NAME=VALUE`. */
  readonly options: ReadonlyMap<string, string>;
  /** Whether the pusher's clone lacks older commits. */
  readonly isShallow: boolean;
  /** Whether the client can show text during the push: `side-band-64k`. */
  readonly showsText: boolean;
}

const command = /^([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0\n]+)(?:\0([^\n]*))?\n?$/;
/** The commands of a push are short. A longer first part is not parsed. */
const maxBytes = 1024 * 1024;

const idOf = (id: string) => (/^0+$/.test(id) ? undefined : id);

/** Parses the commands and options of a push while its bytes pass through. They precede the pack, uncompressed. */
export function createPushReader() {
  let bytes = Buffer.alloc(0);
  let at = 0;
  let section: "commands" | "options" | "done" = "commands";
  let capabilities = "";
  let isShallow = false;
  const updates: RefUpdate[] = [];
  const options = new Map<string, string>();

  const flush = () => {
    section = section === "commands" && / push-options( |$)/.test(` ${capabilities}`) ? "options" : "done";
    if (section === "done") bytes = Buffer.alloc(0);
  };

  const line = (text: string) => {
    if (section === "options") {
      const [, name = "", value = ""] = /^([^=\n]*)=?([^\n]*)/.exec(text) ?? [];
      options.set(name, value);
      return;
    }
    isShallow ||= text.startsWith("shallow ");
    const [, from = "", to = "", ref, more] = command.exec(text) ?? [];
    if (more !== undefined) capabilities = more;
    if (ref !== undefined) updates.push({ ref, commit: idOf(to), before: idOf(from) });
  };

  return {
    take(chunk: Buffer): void {
      if (section === "done") return;
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= at + 4) {
        const length = Number.parseInt(bytes.toString("latin1", at, at + 4), 16);
        // A flush packet, or an invalid packet, which git itself refuses.
        if (!(length >= 4)) {
          at += 4;
          if (length === 0) flush();
          else section = "done";
          if ((section as string) === "done") return;
          continue;
        }
        if (bytes.length < at + length) break;
        line(bytes.toString("utf8", at + 4, at + length));
        at += length;
      }
      if (bytes.length > maxBytes) section = "done";
    },
    get request(): PushRequest {
      return { updates, options, isShallow, showsText: / side-band-64k( |$)/.test(` ${capabilities}`) };
    },
  };
}

const packet = (band: 1 | 2, payload: Uint8Array): Buffer => {
  const head = (payload.length + 5).toString(16).padStart(4, "0");
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from([band]), payload]);
};

/** A line that the pusher's git prints as `remote: …`. */
export const shownLine = (text: string): Buffer => packet(2, Buffer.from(`${text.slice(0, 4000)}\n`));
/** A keep-alive packet. The client prints nothing. */
export const stillHere = packet(1, Buffer.alloc(0));
