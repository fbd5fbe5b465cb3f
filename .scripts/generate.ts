// `npm run generate`: writes the generated documents. A test compares them with the code, so they stay up to date.
import { writeFileSync } from "node:fs";
import { documents } from "./documents.ts";

for (const { path, text } of await documents()) writeFileSync(path, text);
