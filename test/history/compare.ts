import { drawn } from "./drawn.ts";
import type { Engine } from "./engines.ts";
import { createPlayer, type Player } from "./player.ts";

/** The first difference between the engines, as readable text; undefined if the history is the same on all. */
export async function compareEngines(
  seed: number,
  calls: number,
  engines: readonly Engine[],
): Promise<string | undefined> {
  const players: Player[] = [];
  for (const { options } of engines) players.push(await createPlayer(seed, options));
  const differ = (what: string, all: readonly string[]): string | undefined => {
    const at = all.findIndex((one) => one !== all[0]);
    if (at < 0) return undefined;
    return `${what}\non ${engines[0]?.name}:\n${all[0]}\non ${engines[at]?.name}:\n${all[at]}`;
  };
  try {
    for (const [i, entry] of drawn(seed, calls).entries()) {
      const all = await Promise.all(players.map((player) => player.play(entry)));
      const found = differ(`call ${i}, ${JSON.stringify(entry)}`, all);
      if (found) return found;
    }
  } finally {
    for (const [i, { service }] of players.entries()) await engines[i]?.close(service);
  }
  const now = players[0]?.service.clock.now().getTime() ?? 0;
  const rows: (readonly string[])[] = [];
  for (const engine of engines) rows.push(await engine.rows(now));
  const most = Math.max(...rows.map(({ length }) => length));
  for (let i = 0; i < most; i++) {
    const found = differ(
      "a row at the end",
      rows.map((all) => all[i] ?? "no row"),
    );
    if (found) return found;
  }
  return undefined;
}
