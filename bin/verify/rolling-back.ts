import { changes, expect, expectRefusal, idOf, recordOf, shown } from "./check.ts";
import { expectSuccess } from "./own-project.ts";
import { cancel, firstRelease, restoredRelease, rollback, secondRelease } from "./releases.ts";
import * as shape from "./shapes.ts";

export const rollingBack = changes("Deployments", {
  "A rollback makes a new queued deployment with the previous version and its source": async (on) => {
    const [before, latest] = [await firstRelease(on), await secondRelease(on)];
    const answer = await rollback(on, latest["id"]);
    const record = expectSuccess(answer);
    const { id, status, version, source } = shape.expectShape(shape.deployment, record, answer);
    expect(id !== latest["id"] && id !== before["id"], answer, `${id} is an earlier deployment`);
    expect(status === "queued", answer, `status is ${shown(status)}`);
    expect(version === before["version"], answer, `version is ${shown(version)}, and was ${shown(before["version"])}`);
    expect(source.tag === "v1.0.0", answer, `source is ${shown(source)}, expected that of ${before["id"]}`);
    await cancel(on, id);
  },
  "The deployment of a rollback follows the normal lifecycle": async (on) => {
    const [before, { answer, record }] = [await firstRelease(on), await restoredRelease(on)];
    expect(
      record["status"] === "active" && record["version"] === before["version"],
      answer,
      `it ended as ${record["status"]} with the version ${shown(record["version"])}`,
    );
  },
  "A rollback does not modify the original deployment": async (on) => {
    const { id } = await secondRelease(on);
    const path = `/deployments/${id}`;
    const before = recordOf(await on.get(path));
    const made = expectSuccess(await rollback(on, id));
    const answer = await on.get(path);
    await cancel(on, made["id"]);
    for (const name of ["status", "version", "updated_at", "completed_at", "source"])
      expect(
        JSON.stringify(recordOf(answer)[name]) === JSON.stringify(before[name]),
        answer,
        `${name} became ${shown(recordOf(answer)[name])}`,
      );
  },
  "A rollback needs an earlier active version in the environment": async (on) => {
    const { id } = await firstRelease(on);
    const answer = await rollback(on, id);
    if (answer.status < 300) await cancel(on, idOf(answer));
    expectRefusal(answer, "no earlier deployment of the environment became active");
  },
});
