import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createTenantFiles } from "../../lib/platform/box/tenant-files.ts";
import { temporaryFolder } from "../helpers/program.ts";

/** Exchanges folders for links, in one step each and without end, as an app can in its `/data`. */
const exchange = `
use strict; my ($folder, $to) = @ARGV; my $call = $^O && (qx(uname -m) =~ /aarch64/ ? 276 : 316);
chdir $folder; $| = 1;
for my $i (1..500) { mkdir "d$i"; open(my $f, ">", "d$i/a"); symlink($to, "l$i"); }
print "ready\\n";
while (1) { for my $i (1..500) { syscall($call, -100, "d$i", -100, "l$i", 2); } }
`;

test("Nothing outside is removed while an app exchanges its folders for links", async (t) => {
  const [folder, outside] = [temporaryFolder(t), temporaryFolder(t)];
  const names = Array.from({ length: 20 }, (_, i) => `file${i}`);
  for (const name of names) writeFileSync(join(outside, name), name);
  for (let round = 0; round < 5; round++) {
    const data = join(folder, `data${round}`);
    mkdirSync(data);
    const app = spawn("perl", ["-e", exchange, data, outside], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(app, "exit");
    await once(app.stdout, "data");
    // It may fail, because the app goes on.
    await createTenantFiles([])
      .remove(data)
      .catch(() => {});
    app.kill("SIGKILL");
    await ended;
    assert.deepEqual(readdirSync(outside).sort(), names.toSorted());
  }
});
