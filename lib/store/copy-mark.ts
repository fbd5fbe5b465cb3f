/** The setting of a database that holds an unfinished copy. It is no row of the service. */
export const copySetting = "copy";

export const unfinished = "a copy into it is not finished; run svc-server copy again, as before";
