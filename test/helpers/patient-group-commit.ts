import * as real from "../../lib/store/sqlite/group-commit.ts";
import { pauses } from "./pauses.ts";

/** Replaces `lib/store/sqlite/group-commit.ts`: a transaction that is paused is not ended. */
export const createGroupCommit: typeof real.createGroupCommit = (database, translate, isTrusted) =>
  real.createGroupCommit(database, translate, isTrusted, pauses.guard);
