import assert from "node:assert/strict";
import { test } from "node:test";
import { needsBuildKit } from "../../lib/platform/containers/buildkit.ts";
import { checkTrigger, pinSources } from "../../lib/platform/containers/dockerfile-sources.ts";
import { Failure } from "../../lib/platform/runtime/failure.ts";
import fc from "../helpers/fast-check.ts";
import { runs } from "../helpers/properties.ts";

const digest = `sha256:${"0".repeat(64)}`;

/** Pins a Dockerfile to digests; returns it with the images looked up. */
async function pinned(text: string) {
  const asked: string[] = [];
  const { text: written, lines } = await pinSources(text, {
    platform: "linux/amd64",
    cache: "c",
    async pin(name) {
      asked.push(name);
      return `r.test/${name.replace(/[:@].*/, "")}@${digest}`;
    },
  });
  return {
    written: written.replaceAll(`@${digest}`, "@").replaceAll('LABEL svc-server.cache="c"\n', ""),
    lines,
    asked,
  };
}

test("Each image of a Dockerfile gets its digest, and stages stay", async () => {
  const dollar = "$";
  const cases = [
    ["FROM a:1", "FROM r.test/a@\n", ["a:1"]],
    [
      "from\ta:1 as Build\nFROM build\nCOPY --from=BUILD x y",
      "FROM r.test/a@ AS build\nFROM build\nCOPY --from=build x y\n",
      ["a:1"],
    ],
    ["\ufeffFROM scratch\r\nCOPY a b\r\n", "FROM scratch\nCOPY a b\n", []],
    // A stage cannot copy from itself: `s` and `0` are images here.
    ["FROM a AS s\nCOPY --from=s x y", "FROM r.test/a@ AS s\nCOPY --from=r.test/s@ x y\n", ["a", "s"]],
    ["FROM a AS s\nCOPY --from=0 x y", "FROM r.test/a@ AS s\nCOPY --from=r.test/0@ x y\n", ["a", "0"]],
    [
      "FROM a\nFROM b\nCOPY --from=00 --chown=1 x y",
      "FROM r.test/a@\nFROM r.test/b@\nCOPY --from=0 --chown=1 x y\n",
      ["a", "b"],
    ],
    [`ARG V="1" A='b'\nARG C=${dollar}A\nFROM ${dollar}{C}:${dollar}V`, null, ["b:1"]],
    [`ARG E=\nFROM ${dollar}{E:-d}${dollar}{E-d}${dollar}{U-e}${dollar}{E:+f}${dollar}{E+g}`, null, ["deg"]],
    ["FROM --platform=$BUILDPLATFORM a", "FROM r.test/a@\n", ["a"]],
    ["ARG O=linux\nFROM --platform=$O/$TARGETARCH a", "ARG O=linux\nFROM r.test/a@\n", ["a"]],
    ["# syntax=x\n# escape=`\nFROM a\nRUN `\n # c\n\n b \\", "# escape=`\nFROM r.test/a@\nRUN b \\\n", ["a"]],
    ["#\n# escape=`\nFROM a\nRUN `b `", "FROM r.test/a@\nRUN `b `\n", ["a"]],
    [
      "FROM a\nRUN --mount=type=bind,From=b,target=/x c",
      "FROM r.test/a@\nRUN --mount=type=bind,from=r.test/b@,target=/x c\n",
      ["a", "b"],
    ],
    ["FROM a\nONBUILD RUN b\nRUN \\\nc \\", "FROM r.test/a@\nONBUILD RUN b\nRUN c\n", ["a"]],
  ] as const;
  for (const [text, written, asked] of cases) {
    const made = await pinned(text);
    assert.deepEqual(made.asked, asked, text);
    if (written !== null) assert.equal(made.written, written, text);
  }
  assert.deepEqual((await pinned("# c\nFROM a\nRUN b \\\n c\n\nRUN d")).lines, [2, 2, 3, 6]);
});

test("What engines read differently is refused, with its line", async () => {
  const cases = [
    ["RUN a", /line 1 of the Dockerfile: RUN comes before the first FROM/],
    ["# c\n", /line 1 of the Dockerfile: it has no FROM/],
    ["FROM $A", /line 1 of the Dockerfile: FROM \$A names no image; give its variable a value/],
    [`FROM ${"$"}{A:-$B}`, /has a form of variables or quotes that is not supported/],
    ["FROM a b", /is not of the form FROM image AS stage/],
    ["FROM a AS 1", /is not of the form/],
    ["FROM --from=b a", /FROM has no option --from=b/],
    [
      "FROM --platform=linux/s390x a",
      /--platform=linux\/s390x is another platform than the engine's, which is linux\//,
    ],
    ["FROM --platform=a,b a", /is not a platform such as linux\/amd64/],
    ["FROM a\n\nBUILD b", /line 3 of the Dockerfile: BUILD is not an instruction/],
    ["FROM a\nRUN b \\\\\nFROM c", /line 2 of the Dockerfile: RUN ends with \\; nothing continues it/],
    ["FROM a\nRUN b\u2028FROM c", /line 2 of the Dockerfile: it has the character U\+2028/],
    ["FROM a\nRUN b\rFROM c", /line 2 of the Dockerfile: it has the character U\+000D/],
    ["FROM a\nCOPY --fr\\om=b x y", /the options of COPY have quotes or an escape/],
    ["FROM a\nCOPY <<-'E' /x\nFROM b\nE", /line 2 of the Dockerfile: COPY <<-'E' needs BuildKit/],
    [
      "FROM a\nRUN --mount=type=cache,target=/x b",
      /RUN --mount=type=cache is not allowed: a mount is of the type bind or tmpfs/,
    ],
    ["FROM a\nRUN --network=host b", /RUN --network=host is not allowed/],
    ["FROM a\nONBUILD FROM b", /ONBUILD FROM b is not supported: a trigger must not name an image/],
    ["FROM a\nonbuild\tadd --from=b x y", /ONBUILD ADD --from=b x y is not supported/],
    [
      "FROM a\nCOPY --mount=type=bind,from=b x y",
      /line 2 of the Dockerfile: COPY --mount=type=bind,from=b is not allowed/,
    ],
    ["FROM a\nONBUILD RUN --mount=from=b x", /is not supported/],
  ] as const;
  for (const [text, reason] of cases) await assert.rejects(pinned(text), reason, text);
  checkTrigger("RUN a\n");
  for (const trigger of ["copy --from=b x y", "RUN a\nCOPY --from=b x y", "ONBUILD RUN a", "COPY --fr'om'=b x y"])
    assert.throws(() => checkTrigger(trigger), Failure, trigger);
});

/** The options of an instruction, by the rules of Docker's parser. */
function optionsOf(text: string): string[] {
  const found: string[] = [];
  let rest = text.trimStart();
  while (rest.startsWith("--")) {
    let word = "";
    let quote = "";
    let i = 0;
    for (; i < rest.length && (quote !== "" || !/\s/.test(rest[i] ?? "")); i++) {
      const one = rest[i] ?? "";
      if (one === quote) quote = "";
      else if (quote === "" && (one === "'" || one === '"')) quote = one;
      else word += one === "\\" ? (rest[++i] ?? "") : one;
    }
    found.push(word);
    rest = rest.slice(i).trimStart();
  }
  return found;
}

/** The images that an engine would look up; each combination of the two options is how some engine reads. */
function lookedUp(text: string, { doubled, here }: { readonly doubled: boolean; readonly here: boolean }): string[] {
  const lines = text.split("\n");
  const token = /^#[ \t]*escape[ \t]*=[ \t]*(.)/i.exec(lines[0] ?? "")?.[1] ?? "\\";
  const isOpen = (line: string) => {
    const end = line.trimEnd();
    return end.endsWith(token) && (!doubled || !end.endsWith(token + token));
  };
  const stages: string[] = [];
  const images: string[] = [];
  const read = (line: string, depth = 0): void => {
    const [word = ""] = /\S+/.exec(line) ?? [];
    const keyword = word.toUpperCase();
    const rest = line.slice(line.indexOf(word) + word.length);
    if (keyword === "ONBUILD" && depth === 0) read(rest, 1);
    const names = optionsOf(rest).flatMap((one) =>
      [...one.matchAll(/(?:^--|[=,])from=([^,]*)/gi)].map(([, name = ""]) => name),
    );
    const done = stages.slice(0, -1);
    images.push(
      ...names.filter(
        (name) =>
          depth > 0 || !(done.includes(name.toLowerCase()) || (/^\d+$/.test(name) && Number(name) < done.length)),
      ),
    );
    if (keyword !== "FROM") return;
    const [image = "", , stage = ""] = rest
      .trim()
      .split(/\s+/)
      .filter((one) => !one.startsWith("--"));
    if (image !== "scratch" && !stages.includes(image.toLowerCase())) images.push(image);
    stages.push(stage.toLowerCase());
  };
  for (let i = 0; i < lines.length; i++) {
    let whole = lines[i] ?? "";
    if (/^\s*(#|$)/.test(whole)) continue;
    while (isOpen(whole) && i + 1 < lines.length) {
      const next = lines[++i] ?? "";
      whole = whole.trimEnd().slice(0, -1) + (/^\s*(#|$)/.test(next) ? token : next);
    }
    read(whole);
    const [, end] =
      here && /^\s*(run|copy|add|onbuild)\s/i.test(whole) ? (/\s\d*<<-?["']?(\w+)/.exec(whole) ?? []) : [];
    if (end !== undefined) while (i + 1 < lines.length && lines[++i] !== end);
  }
  return images;
}

test("Whatever a Dockerfile says, an engine finds no image in it but those with a digest", async () => {
  const parts = [
    ...["FROM local", "FROM s", "FROM $A", "FROM scratch AS t", "ARG A=local", "FROM local AS u\nFROM local"],
    ...[
      "COPY --from=local a b",
      "COPY --from=u a b",
      "COPY --from=1 a b",
      'ADD --from="local" a b',
      "--from=local a b",
    ],
    ...[
      "RUN a \\",
      "RUN a `",
      "RUN a \\\\",
      "COPY \\",
      "RUN <<CMD\nFROM local AS u\nFROM local\nCMD",
      "CMD",
      "# escape=`",
      "# a \\",
      "",
    ],
    ...["ONBUILD COPY --from=local a b", "ONBUILD \\", "RUN --mount=type=bind,from=local a"],
  ];
  const noise = fc.constantFrom(
    "\\",
    "`",
    '"',
    "'",
    "\u00a0",
    "\r",
    "\n",
    "\t",
    " ",
    "$",
    "<<E ",
    "#",
    "--",
    "\f",
    "\\\n",
  );
  const change = fc.record({ at: fc.nat(200), text: noise });
  const lines = fc.array(fc.constantFrom(...parts), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(lines, fc.array(change, { maxLength: 2 }), fc.boolean(), async (given, changes, isBare) => {
      let text = [...(isBare ? [] : ["FROM local AS s"]), ...given].join("\n");
      for (const one of changes) text = text.slice(0, one.at) + one.text + text.slice(one.at);
      const made = await pinned(text).catch((error: unknown) => {
        assert.ok(error instanceof Failure, String(error));
        return undefined;
      });
      for (const doubled of [true, false])
        for (const here of [true, false])
          for (const image of lookedUp(made?.written ?? "", { doubled, here })) assert.match(image, /^r\.test\/.*@$/);
    }),
    runs(3_000),
  );
});

test("What only BuildKit knows is found in a Dockerfile, with its line", () => {
  const cases = [
    ["FROM a:1\nRUN --mount=type=cache,target=/x go build\n", "RUN --mount in line 2"],
    ["FROM a:1\nrun \\\n  --network=none make\n", "RUN --network in line 2"],
    ["FROM a:1\nCOPY --from=b --link x y\n", "COPY --link in line 2"],
    ["FROM a:1\nADD --checksum=sha256:1 https://x.test/a /a\n", "ADD --checksum in line 2"],
    ["FROM --platform=linux/amd64 a:1\nCOPY --chown=1 --from=b x y\nRUN make --mount && echo 1 << 2\n", undefined],
  ] as const;
  for (const [text, found] of cases) assert.equal(needsBuildKit(text), found);
});
