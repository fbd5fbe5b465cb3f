import { packageFile } from "../../kernel/version.ts";

export type OpenapiService = ReturnType<typeof openapiService>;
type Envelope = "flat" | "full";

export const publishedText = (envelope: Envelope): string =>
  packageFile(`schema/openapi${envelope === "full" ? "-full" : ""}.json`);

export const published = (envelope: Envelope) =>
  JSON.parse(publishedText(envelope)) as Readonly<Record<string, unknown>>;

/** The published document for the service's envelope, read at first use. */
export function openapiService({ envelope }: { readonly envelope: Envelope }) {
  let document: object | undefined;
  return {
    async get(): Promise<object> {
      document ??= published(envelope);
      return document;
    },
  };
}
