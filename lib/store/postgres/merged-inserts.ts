/** An insert of one row that only names columns and values. */
interface Insert {
  readonly columns: number;
  /** The statement for so many rows. */
  textOf(rows: number): string;
}

const plain = /^(insert into "\w+" \([^()]+\) values )\(\$1(?:, \$\d+)*\)$/;
/** The most rows of a statement. Each statement has a power of two of rows, so that few are prepared. */
const most = 32;

const row = (columns: number, from: number) =>
  `(${Array.from({ length: columns }, (_, i) => `$${from + i + 1}`).join(", ")})`;

function insertOf(text: string): Insert | undefined {
  const [, head] = plain.exec(text) ?? [];
  // A part of a file has 1 MiB.
  if (head === undefined || head.includes('"asset_parts"')) return undefined;
  const columns = text.slice(head.length).split(",").length;
  const texts = new Map([[1, text]]);
  return {
    columns,
    textOf(rows) {
      const made =
        texts.get(rows) ?? head + Array.from({ length: rows }, (_, i) => row(columns, i * columns)).join(", ");
      texts.set(rows, made);
      return made;
    },
  };
}

/** By statement; undefined if it is no plain insert. All connections share them. */
const known = new Map<string, Insert | undefined>();

/**
 * Inserts that wait for the next other statement or for the commit. Then all rows of a table are sent in one statement.
 * The members of a group insert into the same tables: at 32 connections, a POST to one environment takes 0.72 of the
 * processor time (`npm run bench -- postgres`).
 *
 * A member's own inserts keep their order. Those of different members may not: if a row then lacks the row that it
 * refers to, the group is rolled back, and each member runs again alone.
 */
export function createInserts(send: (text: string, values: readonly unknown[]) => void) {
  let waiting: { readonly insert: Insert; readonly values: unknown[] }[] = [];
  /** The place in `waiting` of the member's last row. */
  let reached = 0;

  const flush = () => {
    for (const { insert, values } of waiting.splice(0)) {
      const size = insert.columns;
      for (let from = 0; from < values.length; ) {
        const rows = Math.min(most, 2 ** Math.floor(Math.log2((values.length - from) / size)));
        send(insert.textOf(rows), values.slice(from, from + rows * size));
        from += rows * size;
      }
    }
    reached = 0;
  };

  const add = (insert: Insert, parameters: readonly unknown[]) => {
    const place = waiting.findIndex((one) => one.insert === insert);
    if (place >= 0 && place < reached) flush();
    const present = waiting[place];
    if (present) {
      present.values.push(...parameters);
      reached = place;
    } else reached = waiting.push({ insert, values: [...parameters] }) - 1;
  };

  return {
    /** What adds rows for a statement; undefined unless it is a plain insert. */
    adding(text: string): ((parameters: readonly unknown[]) => void) | undefined {
      if (!known.has(text)) known.set(text, insertOf(text));
      const insert = known.get(text);
      return insert && ((parameters) => add(insert, parameters));
    },
    /** Called before the first row of a member. */
    beginMember() {
      reached = 0;
    },
    /** Sends all rows. */
    flush,
    /** Drops what a transaction left that was rolled back. */
    drop() {
      waiting = [];
      reached = 0;
    },
  };
}
