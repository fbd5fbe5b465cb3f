import { type JsonText, jsonText } from "./result-text.ts";

/** How a change reaches the service: by one of its interfaces, or from outside. */
export const ways = ["api", "dashboard", "push", "hook", "command"] as const;
export type Way = (typeof ways)[number];

/** Who creates a record. An id is empty if the service does not know it. */
export interface Maker {
  readonly user_id: string;
  readonly key_id: string;
  readonly via?: Way | undefined;
}

/** A hook of a code host, which names no member. */
export const codeHostHook: Maker = { user_id: "", key_id: "", via: "hook" };

export const madeBy = ({ user_id, key_id, via = "api" }: Maker): JsonText =>
  jsonText({ user_id: user_id || null, key_id: key_id || null, via });
