import { changes, expect, expectFields, expectRefusal, expectSuccess, idOf, recordIn, recordOf } from "./check.ts";
import { cancel, firstRelease, restoredRelease, rollback, secondRelease } from "./releases.ts";
import * as shape from "./shapes.ts";

export const rollingBack = changes("Deployments", {
  "A rollback makes a new queued deployment with the previous version and its source": async (on) => {
    const [before, latest] = [await firstRelease(on), await secondRelease(on)];
    const made = expectSuccess(await rollback(on, latest["id"]));
    const wanted = { status: "queued", version: before["version"] };
    const { id, source } = shape.expectShape(shape.deployment, made, wanted);
    expect(id !== latest["id"] && id !== before["id"], made.answer, `${id} is an earlier deployment`);
    expectFields({ ...made, record: source }, { tag: "v1.0.0" });
    await cancel(on, id);
  },
  "The deployment of a rollback follows the normal lifecycle": async (on) => {
    const { version } = await firstRelease(on);
    expectFields(await restoredRelease(on), { status: "active", version });
  },
  "A rollback does not modify the original deployment": async (on) => {
    const { id } = await secondRelease(on);
    const path = `/deployments/${id}`;
    const { status, version, updated_at, completed_at, source } = recordOf(await on.get(path));
    const made = expectSuccess(await rollback(on, id));
    const answer = await on.get(path);
    await cancel(on, made.record["id"]);
    expectFields(recordIn(answer), { status, version, updated_at, completed_at, source });
  },
  "A rollback needs an earlier active version in the environment": async (on) => {
    const { id } = await firstRelease(on);
    const answer = await rollback(on, id);
    if (answer.status < 300) await cancel(on, idOf(answer));
    expectRefusal(answer, "no earlier deployment of the environment became active");
  },
});
