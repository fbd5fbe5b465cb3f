import { parseArgs } from "node:util";

const usageOf = (parts: readonly string[], long: readonly string[]) => `Usage: npm run bench [-- [PART …] [OPTIONS]]

Measures the figures of the README; compare only ratios within one run. Ends with 1 where a figure misses its floor.

Parts: ${parts.join(", ")}
Without a part, all of them run, except ${long.join(", ")} and, without --peers, peers.

Options:
  --all             Run ${long.join(", ")}, too.
  --rounds N        The rounds of each figure over HTTP (5).
  --json FILE       Write the figures to FILE, too.
  --peers FOLDER    The folder with the installed packages of the peers.
  --postgres URL    The PostgreSQL server for the peers that need one, and for the part postgres, which else starts one.
  --help            Print this text.
`;

export interface Arguments {
  /** The parts to run, in the order given. */
  readonly parts: readonly string[];
  readonly rounds: number;
  readonly json: string | undefined;
  /** Empty if there are no peers. */
  readonly peers: string;
  readonly postgres: string;
}

/** Parses the command line. For --help, prints the usage and exits; for wrong words, exits with 2. */
export function readArguments(parts: readonly string[], long: readonly string[]): Arguments {
  const refuse = (sentence: string): never => {
    process.stderr.write(`${sentence}\n\n${usageOf(parts, long)}`);
    process.exit(2);
  };
  const { values, positionals } = parsed(refuse);
  if (values.help) {
    process.stdout.write(usageOf(parts, long));
    process.exit(0);
  }
  const unknown = positionals.filter((name) => !parts.includes(name));
  if (unknown.length > 0) refuse(`Unknown part: ${unknown.join(", ")}.`);
  if (!/^[1-9]\d{0,3}$/.test(values.rounds))
    refuse(`--rounds must be a whole number from 1 to 9999, not "${values.rounds}".`);
  const standard = parts.filter((name) => (values.all || !long.includes(name)) && (name !== "peers" || values.peers));
  return {
    parts: positionals.length > 0 ? positionals : standard,
    rounds: Number(values.rounds),
    json: values.json,
    peers: values.peers,
    postgres: values.postgres,
  };
}

function parsed(refuse: (sentence: string) => never) {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h", default: false },
        all: { type: "boolean", default: false },
        rounds: { type: "string", default: "5" },
        json: { type: "string" },
        peers: { type: "string", default: "" },
        postgres: { type: "string", default: "" },
      },
    });
  } catch (error) {
    // Only the first sentence names the wrong word; the rest explains positional arguments.
    return refuse((error as Error).message.replace(/\. .*$/s, "."));
  }
}
