import type { ColumnTypes } from "./column-types.ts";
import type { Rows } from "./generated/tables.ts";

/** The tables of `schema/*.sql`. Columns have the same names as in the API. */
export type Tables = Rows;

export type Row<T extends keyof Tables> = Tables[T];

export type MailStatus = ColumnTypes["mails.status"];
