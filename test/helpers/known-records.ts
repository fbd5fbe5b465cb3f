import type { Reply } from "./test-service.ts";

/** The path prefix of each kind of identifier. */
const kinds: Readonly<Record<string, string>> = {
  ...{ proj: "projects", dep: "deployments", usr: "users", inv: "invitations", int: "integrations", wh: "webhooks" },
  ...{ gen: "generations", key: "api-keys", dlv: "deliveries" },
};
const identifier = /\b(proj|dep|usr|inv|int|wh|gen|key|dlv)_[0-9A-HJKMNP-TV-Z]{26}\b/g;

/** Remembers identifiers and cursors from earlier answers. Fills in the `@projects` of drafted requests. */
export function knownRecords() {
  const known = new Map<string, string[]>();
  const add = (kind: string, text: string) => known.set(kind, [...(known.get(kind) ?? []).slice(-20), text]);
  return {
    add,
    learn({ text, body }: Pick<Reply, "text" | "body">) {
      const [id, kind] = text.length < 4_000 ? (identifier.exec(text) ?? []) : [];
      identifier.lastIndex = 0;
      if (id && kind) add(kinds[kind] ?? "", id);
      if (body?.meta?.next_cursor) add("cursors", body.meta.next_cursor);
    },
    /** Forgets the identifiers in this path, because their records do not exist. */
    forget(path: string) {
      for (const [id = "", kind = ""] of path.matchAll(identifier))
        known.set(
          kinds[kind] ?? "",
          (known.get(kinds[kind] ?? "") ?? []).filter((one) => one !== id),
        );
    },
    /** Replaces each placeholder such as `@projects` with an identifier. */
    fill: (text: string, turn: number) =>
      text.replaceAll(/@([a-z-]+)/g, (whole, kind) => {
        const all = known.get(kind);
        return all?.[turn % all.length] ?? whole;
      }),
  };
}
