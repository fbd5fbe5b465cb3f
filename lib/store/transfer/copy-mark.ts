/** The settings row that marks an unfinished copy. A service never has this row. */
export const copySetting = "copy";

export const unfinished = "a copy into it is not finished; run svc-server copy again, as before";
