// `npm run generate`: writes what is made from the code. A test compares the two, so nothing of it can rot.
import { writeFileSync } from "node:fs";
import { documents } from "./documents.ts";

for (const { path, text } of await documents()) writeFileSync(path, text);
