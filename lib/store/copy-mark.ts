/** The setting that marks a database with an unfinished copy. The service has no such row. */
export const copySetting = "copy";

export const unfinished = "a copy into it is not finished; run svc-server copy again, as before";
