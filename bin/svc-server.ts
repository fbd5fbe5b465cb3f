#!/usr/bin/env node
import { run } from "./main.ts";

const { code, says } = await run(process.argv.slice(2));
if (says !== undefined) process.stderr.write(says);
// A pipe takes what is long piece by piece: leaving before it has taken all would cut it off.
process.stdout.write("", () => process.exit(code));
