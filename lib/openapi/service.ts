import { packageFile } from "../kernel/version.ts";

export type OpenapiService = ReturnType<typeof openapiService>;

/** The published document of the envelope in force, read at its first use. */
export function openapiService({ envelope }: { readonly envelope: "flat" | "full" }) {
  let document: object | undefined;
  return {
    async get(): Promise<object> {
      document ??= JSON.parse(packageFile(`schema/openapi${envelope === "full" ? "-full" : ""}.json`)) as object;
      return document;
    },
  };
}
