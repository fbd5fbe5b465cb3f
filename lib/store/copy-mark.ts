/** The setting that says that a database holds an unfinished copy, and of which service. It is no row of the service. */
export const copySetting = "copy";

export const unfinished = "a copy into it is not finished; run svc-server copy again, as before";
