#!/usr/bin/env node
import { run } from "./main.ts";
import { stopWithNpx } from "./parent.ts";

stopWithNpx();
const { code, message } = await run(process.argv.slice(2));
if (message !== undefined) process.stderr.write(message);
// A pipe accepts long output in pieces. An exit before the last piece would truncate it.
process.stdout.write("", () => process.exit(code));
