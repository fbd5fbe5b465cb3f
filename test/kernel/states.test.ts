import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { deploymentsRepository } from "../../lib/features/deployments/repository.ts";
import { lifecycle, type MoveName } from "../../lib/features/deployments/states.ts";
import { lifecycle as generationStates } from "../../lib/features/generations/states.ts";
import { organizationsRepository } from "../../lib/features/organizations/repository.ts";
import { projectsRepository } from "../../lib/features/projects/repository.ts";
import { lifecycle as projectStates } from "../../lib/features/projects/states.ts";
import { lifecycle as userStates } from "../../lib/features/users/states.ts";
import { jsonText } from "../../lib/kernel/result-text.ts";
import type { Machine } from "../../lib/kernel/state-machine.ts";
import { createStore } from "../../lib/store/store.ts";
import type { Row } from "../../lib/store/tables.ts";
import { newDatabase } from "../helpers/engines.ts";
import { start } from "../helpers/test-service.ts";

type Deployment = Row<"deployments">;
type State = Deployment["status"];

const moves = Object.keys(lifecycle.moves) as MoveName[];
const organization_id = "org_1";
const at = "2026-01-01T00:01:00.000Z";

/** A store with one project, and functions that insert, move and read deployments. */
async function stage(t: TestContext) {
  const store = createStore((await newDatabase(t)).engine);
  const deployments = store.using(deploymentsRepository);
  const named = { name: "web", name_folded: "web", created_at: start };
  await store.transaction("all", async (tx) => {
    await store
      .using(organizationsRepository)(tx)
      .insert({ id: organization_id, plan: "pro", ...named });
    const project = { id: "proj_1", organization_id, region: "r", description: null, updated_at: start };
    await store
      .using(projectsRepository)(tx)
      .insert({ ...project, status: "active", ...named });
  });
  let made = 0;
  const put = async (status: State): Promise<Deployment> => {
    const id = `dep_${made++}`;
    const row: Deployment = {
      id,
      organization_id,
      project_id: "proj_1",
      environment: id,
      status,
      source: jsonText({}),
      version: null,
      restores: null,
      ready_at: start,
      created_at: start,
      updated_at: start,
      step_at: start,
      completed_at: null,
      deployed_at: null,
      log_entries: 0,
      log_bytes: 0,
      revision: null,
      repo: null,
      script: null,
      lined_up: 0,
      pin: null,
      release: null,
      runtime: null,
      root: null,
      created_by: null,
    };
    await store.transaction("all", (tx) => deployments(tx).insert(row));
    return row;
  };
  const move = (row: Deployment, name: MoveName, of = organization_id) =>
    store.transaction("all", (tx) => deployments(tx).moves[name]({ ...row, organization_id: of, version: "v1", at }));
  const read = ({ id }: Deployment) => deployments().find({ organization_id, id });
  return { store, put, move, read };
}

test("every move of a deployment from every state: only moves of the table change anything", async (t) => {
  const { put, move, read } = await stage(t);
  for (const state of lifecycle.states) {
    for (const name of moves) {
      const { from, to } = lifecycle.moves[name];
      const allowed = (from as readonly string[]).includes(state);
      await t.test(`${state}: ${name} ${allowed ? `leads to ${to}` : "changes nothing"}`, async () => {
        const before = await put(state);
        const answered = await move(before, name);
        const after = await read(before);
        if (!allowed) {
          assert.equal(answered, undefined);
          assert.deepEqual(after, before);
          return;
        }
        assert.deepEqual(answered, after);
        const ended = lifecycle.terminal.some((one) => one === to);
        assert.deepEqual(after, {
          ...before,
          status: to,
          version: "v1",
          updated_at: at,
          step_at: at,
          completed_at: ended ? at : null,
          deployed_at: to === "active" ? at : null,
        });
      });
    }
  }
});

test("a move within another organization changes nothing", async (t) => {
  const { put, move, read } = await stage(t);
  for (const name of moves) {
    const before = await put(lifecycle.moves[name].from[0] ?? lifecycle.initial);
    assert.equal(await move(before, name, "org_2"), undefined);
    assert.deepEqual(await read(before), before);
  }
});

test("of two concurrent moves from one state, exactly one wins", async (t) => {
  const { put, move, read } = await stage(t);
  const wins = new Map<string, number>();
  for (let round = 0; round < 200; round++) {
    for (const [state, one, other] of [
      ["building", "cancel", "rollout"],
      ["building", "cancel", "fail"],
      ["deploying", "succeed", "fail"],
      ["deploying", "restore", "succeed"],
    ] as const) {
      const row = await put(state);
      const pair = round % 2 === 0 ? ([one, other] as const) : ([other, one] as const);
      const answers = await Promise.all(pair.map((name) => move(row, name)));
      const won = answers.flatMap((answer, i) => (answer ? [pair[i] as MoveName] : []));
      assert.equal(won.length, 1, `${won} of ${pair} won`);
      const name = won[0] as MoveName;
      assert.equal((await read(row))?.status, lifecycle.moves[name].to);
      wins.set(name, (wins.get(name) ?? 0) + 1);
    }
  }
  assert.deepEqual([...wins.keys()].sort(), ["cancel", "fail", "restore", "rollout", "succeed"]);
});

test("a queued deployment that is built and cancelled concurrently ends as cancelled, after both moves in order", async (t) => {
  const { put, move, read } = await stage(t);
  for (let round = 0; round < 50; round++) {
    const row = await put("queued");
    const pair: MoveName[] = round % 2 === 0 ? ["build", "cancel"] : ["cancel", "build"];
    const [first, second] = await Promise.all(pair.map((name) => move(row, name)));
    assert.ok(first);
    assert.equal(second !== undefined, round % 2 === 0, "a cancelled one is not built");
    assert.equal((await read(row))?.status, "cancelled");
  }
});

test("one environment has one running deployment at most", async (t) => {
  const { store, put, read } = await stage(t);
  const deployments = store.using(deploymentsRepository);
  const running = await put("building");
  const waiting = { ...(await put("queued")), id: "dep_waiting", environment: running.environment };
  await store.transaction("all", (tx) => deployments(tx).insert(waiting));
  const build = store.transaction("all", (tx) => deployments(tx).moves.build({ ...waiting, at }));
  await assert.rejects(build, (error) => store.engine.isDuplicate(error));
  assert.equal((await read(waiting))?.status, "queued");
});

test("the tables of states are complete", async (t) => {
  const machines: Record<string, Machine<string, string>> = {
    deployment: lifecycle,
    project: projectStates,
    user: userStates,
    generation: generationStates,
  };
  for (const [name, { states, initial, terminal, moves }] of Object.entries(machines)) {
    await t.test(`of a ${name}`, () => {
      const all = Object.values(moves);
      for (const { from, to } of all) for (const state of [...from, to]) assert.ok(states.includes(state), state);
      for (const state of terminal) assert.ok(!all.some(({ from }) => from.includes(state)), `${state} is left again`);
      const reached = new Set([initial, ...all.map(({ to }) => to)]);
      assert.deepEqual([...reached].sort(), [...states].sort());
    });
  }
  await t.test("and the table of deployments has the states of the specification", () => {
    const specified = ["queued", "building", "deploying", "active", "failed", "cancelled", "rolled_back"];
    assert.deepEqual([lifecycle.states, lifecycle.terminal], [specified, specified.slice(3)]);
  });
});
