#!/usr/bin/env node
import { run } from "./main.ts";
import { stopWithNpx } from "./parent.ts";

stopWithNpx();
const { code, message } = await run(process.argv.slice(2));
if (message !== undefined) process.stderr.write(message);
// A pipe takes a long output in pieces: exiting before the last piece would cut it off.
process.stdout.write("", () => process.exit(code));
