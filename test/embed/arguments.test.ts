import assert from "node:assert/strict";
import { test } from "node:test";
import { hasSnapshots } from "../helpers/engine.ts";
import { keyOf, world } from "../helpers/test-service.ts";

/** A value that JavaScript can pass although the types forbid it. */
// biome-ignore lint/suspicious/noExplicitAny: the types would not let it pass
const untyped = (value: unknown): any => value;

test("a port that can be none is refused, and none is opened", async (t) => {
  const { service } = await world(t);
  const port = "port must be a whole number from 0 to 65535";
  for (const [at, message] of [
    ...["abc", "7400", "", -1, 70_000, 1.5, Number.NaN, null].map((wrong) => [{ port: wrong }, port] as const),
    [{ host: "" }, "host must have 1 to 253 characters"],
    [{ host: 127 }, "host must be a string"],
    [{ prot: 7400 }, "prot is an unknown field; the fields are port, host"],
    [7400, "at must be an object such as { port: 7400 }"],
  ] as const)
    await assert.rejects(service.listen(untyped(at)), { code: "validation_failed", message });
  assert.equal(service.url, undefined);
  await service.listen({ port: undefined, host: undefined } as object);
  assert.match(service.url ?? "", /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
});

test("a function refuses an argument with an unknown field or of the wrong type", async (t) => {
  const { service } = await world(t);
  const refused = (message: string) => ({ name: "Problem", code: "validation_failed", message });
  for (const [as, message] of [
    [{ apikey: "sk_live_wrong" }, "apikey is an unknown field; the fields are apiKey"],
    [{ key: keyOf("viewer") }, "key is an unknown field; the fields are apiKey"],
    [{ apiKey: 5 }, "apiKey must be a string"],
    ...["sk_live_wrong", null, [], 5].map(
      (as) => [as, 'as must be an object such as { apiKey: "sk_live_…" }'] as const,
    ),
  ] as const)
    assert.throws(() => service.client(untyped(as)), refused(message));
  for (const apiKey of [null, ""])
    await assert.rejects(service.client({ apiKey: untyped(apiKey) }).me.get(), { code: "unauthorized" });
  for (const as of [undefined, {}, { apiKey: undefined as never }])
    assert.equal((await service.client(as).me.get()).user.role, "owner");

  const endpoint = 'must be an object such as { endpoint: "hook" }';
  for (const [of, message] of [
    [{ endpint: "hook" }, "endpint is an unknown field; the fields are endpoint"],
    [{ endpoint: 5 }, "endpoint must be a string"],
    ["hook", `of ${endpoint}`],
    [null, `of ${endpoint}`],
  ] as const)
    assert.throws(() => service.inbox.list(untyped(of)), refused(message));
  for (const [more, message] of [
    [{ endpint: "hook" }, "endpint is an unknown field; the fields are endpoint, timeout"],
    ["5s", `more ${endpoint}`],
  ] as const)
    await assert.rejects(service.webhooks.waitFor("*", untyped(more)), refused(message));
  for (const [wanted, message] of [
    [{ rol: "viewer" }, "rol is an unknown field; the fields are organization, role, scopes, name"],
    ["viewer", 'wanted must be an object such as { role: "viewer" }'],
    [undefined, 'wanted must be an object such as { role: "viewer" }'],
  ] as const)
    await assert.rejects(service.keys.create(untyped(wanted)), refused(message));
  for (const [call, message] of [
    [() => service.snapshot(untyped({ nam: "before" })), "nam is an unknown field; the fields are name"],
    [() => service.snapshot(untyped("before")), 'snapshot must be an object such as { name: "before the move" }'],
    [() => service.fork(untyped("snap_1")), 'fork must be an object such as { from: "snap_1", muted: true }'],
    [() => service.compare(untyped("snap_1")), 'compare must be an object such as { from: "snap_1" }'],
    [() => service.preview(untyped("2h")), 'preview must be an object such as { by: "2h" }'],
  ] as const)
    await assert.rejects(call(), refused(message));
  for (const [wanted, message] of [
    [{ name: "initech", plam: "pro" }, "plam is an unknown field; the fields are name, plan"],
    ["initech", 'wanted must be an object such as { name: "acme" }'],
  ] as const)
    await assert.rejects(service.organizations.create(untyped(wanted)), refused(message));
});

test("a function that takes no arguments refuses some, but for those that a test runner hands to a hook", async (t) => {
  const { service } = await world(t);
  const { clock, inbox, scenarios, faults } = service;
  const answers: readonly (readonly [string, (...given: unknown[]) => unknown])[] = [
    [service.invariants.name, service.invariants],
    ...[scenarios.list, scenarios.unused, faults.list].map((one) => [one.name, one] as const),
  ];
  const hooks: typeof answers = [
    ...[service.settle, clock.advanceToNext, clock.runUntilIdle].map((one) => [one.name, one] as const),
    // `reset` comes last, because it replaces the state that the others use.
    ...[inbox.clear, scenarios.clear, faults.clear, ...(hasSnapshots ? [service.reset] : [])].map(
      (one) => [one.name, one] as const,
    ),
  ];
  for (const [name, call] of [...answers, ...hooks])
    for (const given of ["2h", { endpoint: "hook" }, null])
      await assert.rejects(async () => call(given), {
        code: "validation_failed",
        message: new RegExp(`^${name} takes no arguments; `),
      });
  // The arguments that Node, Vitest and Jest pass to a hook.
  for (const [, call] of hooks)
    for (const context of [
      t,
      Object.assign(() => {}, { task: {} }),
      { type: "suite", name: "all" },
      () => {},
      undefined,
    ])
      await call(context);
});

test("identifiers of the wrong type are refused", async (t) => {
  const { deployments, generations, webhooks } = (await world(t)).service;
  for (const [call, message] of [
    [() => deployments.step(untyped(undefined)), "id is required"],
    [() => generations.step(untyped({ id: "gen_1" })), "id must be a string"],
    [() => webhooks.deliver(untyped(undefined)), "deliveries is required"],
    [() => webhooks.deliver(untyped("dlv_1")), "deliveries must be a list"],
    [() => webhooks.deliverInEveryOrder(untyped([1]), () => {}), "deliveries.0 must be a string"],
  ] as const)
    await assert.rejects(call(), { code: "validation_failed", message });
});

test("a port beyond loopback needs a public URL or a proxy, as on the command line", async (t) => {
  const beyond = {
    code: "validation_failed",
    message: /^host can be reached from other machines; set the option publicUrl/,
  };
  const hosted = { mode: "start", clock: "real", random: undefined } as const;
  for (const options of [{}, hosted]) {
    const { service } = await world(t, options);
    for (const host of ["0.0.0.0", "::", "192.0.2.1", "svc.example.com"])
      await assert.rejects(service.listen({ host }), beyond, host);
    assert.equal(service.url, undefined);
    for (const host of ["localhost", "127.0.0.1"]) await service.listen({ host });
  }
  for (const options of [{ publicUrl: "https://svc.example.com" }, { behindProxy: true }])
    assert.match((await (await world(t, { ...hosted, ...options })).service.listen({ host: "0.0.0.0" })).url, /^http/);
});
