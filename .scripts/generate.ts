// `npm run generate`: writes the generated documents. A test compares them with the code, so they cannot become outdated.
import { writeFileSync } from "node:fs";
import { documents } from "./documents.ts";

for (const { path, text } of await documents()) writeFileSync(path, text);
