import { Problem } from "../kernel/errors.ts";
import type { Images } from "../store/engine.ts";

/** The reason why a state cannot have a snapshot. */
export const tooLarge = () =>
  new Problem(
    "limit_reached",
    "the database had more than 1 GiB at the start, so its first state was not stored; take a snapshot, and restore that",
  );

export const reallyRuns = () =>
  new Problem(
    "limit_reached",
    "running apps cannot be copied or reset, so a service with a runtime has no snapshots, forks and reset; start without --runtime",
  );

/** The copies of a database. Throws a Problem if it cannot be copied. */
export const imagesOf = ({
  foundation,
}: {
  readonly foundation: { readonly opened: { readonly images?: Images } };
}): Images => {
  const { images } = foundation.opened;
  if (!images)
    throw new Problem(
      "limit_reached",
      "a PostgreSQL database has no snapshots, forks and reset; use one in memory or in a file",
    );
  return images;
};
