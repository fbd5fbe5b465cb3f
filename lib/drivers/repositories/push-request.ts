/** A ref that a push wants to change. */
export interface RefUpdate {
  readonly ref: string;
  /** The commit that it is to point to; undefined for a ref that is deleted. */
  readonly commit: string | undefined;
  /** The commit that it points to; undefined for a new ref. */
  readonly before: string | undefined;
}

/** The first part of a push, before its pack. */
export interface PushRequest {
  readonly updates: readonly RefUpdate[];
  /** Those of `git push -o NAME=VALUE`. */
  readonly options: ReadonlyMap<string, string>;
  /** Whether the client shows text while the push goes on: `side-band-64k`. */
  readonly showsText: boolean;
}

const command = /^([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0\n]+)(?:\0([^\n]*))?\n?$/;
/** The commands of a push are short; a longer first part is no push of a person. */
const mostBytes = 1024 * 1024;

const idOf = (id: string) => (/^0+$/.test(id) ? undefined : id);

/** Reads the commands and options of a push from its first bytes, as they pass. They stand before the pack, uncompressed. */
export function createPushReader() {
  let bytes = Buffer.alloc(0);
  let at = 0;
  let section: "commands" | "options" | "done" = "commands";
  let capabilities = "";
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
        // A flush packet, or an invalid one, which git itself refuses.
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
      if (bytes.length > mostBytes) section = "done";
    },
    get request(): PushRequest {
      return { updates, options, showsText: / side-band-64k( |$)/.test(` ${capabilities}`) };
    },
  };
}

const packet = (band: 1 | 2, payload: Uint8Array): Buffer => {
  const head = (payload.length + 5).toString(16).padStart(4, "0");
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from([band]), payload]);
};

/** A line that the pusher's git shows as `remote: …`. */
export const shownLine = (text: string): Buffer => packet(2, Buffer.from(`${text.slice(0, 4000)}\n`));
/** Keeps a connection alive; the client shows nothing. */
export const stillHere = packet(1, Buffer.alloc(0));
