import { type Figure, figure } from "./figures.ts";
import { type Bench, createLoad, inTurns, type Rows, ratios, requests, start } from "./servers.ts";

/** The service on a large database against the service on a small one: at 1 the cost does not grow. */
export async function growth(bench: Bench, small: Rows, large: Rows, counts: string): Promise<Figure[]> {
  const load = createLoad(bench);
  const [few, many] = [await start(bench, small, "few"), await start(bench, large, "many")];
  const figures: Figure[] = [];
  for (const [key, name] of [
    ["get", "GET by id"],
    ["list", "GET the list of 20"],
  ] as const) {
    const [less = [], more = []] = await inTurns(bench, load, [
      [few, { requests: requests[key](small), keys: [small.key] }],
      [many, { requests: requests[key](large), keys: [large.key] }],
    ]);
    const goal = { floor: 0.6, aim: 0.9 };
    figures.push(figure(`${name}: ${counts}, processor`, "×", ratios(more, less, "cpu_us", "less"), goal));
  }
  await Promise.all([load, few, many].map((one) => one.end()));
  return figures;
}
