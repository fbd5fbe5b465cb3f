import {
  type Answer,
  type Check,
  changes,
  expect,
  expectRefusal,
  field,
  itemsOf,
  pageOf,
  recordOf,
  shown,
  Untried,
  unknownId,
} from "./check.ts";
import { expectSuccess, ownProject, unique } from "./own-project.ts";
import {
  after,
  cancel,
  create,
  firstRelease,
  git,
  type Made,
  observed,
  order,
  post,
  restoredRelease,
} from "./releases.ts";
import { rollingBack } from "./rolling-back.ts";
import * as shape from "./shapes.ts";

const creation = changes("Deployments", {
  "POST /deployments answers a queued deployment with version and completed_at null, and its whole source": async (
    on,
  ) => {
    const { answer, record } = await create(on);
    const { status, version, completed_at, source } = shape.expectShape(shape.deployment, record, answer);
    expect(status === "queued", answer, `status is ${shown(status)}`);
    expect(
      version === null && completed_at === null,
      answer,
      `version is ${shown(version)}, completed_at ${shown(completed_at)}`,
    );
    expect(source.repo === git.repo && source.branch === git.branch, answer, `source is ${shown(source)}`);
    expect(
      source.tag === null && source.image_url === null,
      answer,
      `source is ${shown(source)}, expected null for the tag and the image`,
    );
  },
  "An image is a source": async (on) => {
    const image_url = "registry.example.com/svc-verify/app:1.0.0";
    const answer = await post(on, { source: { type: "image", image_url } });
    // A server with a runtime may refuse images. The error then names this field.
    const details: unknown = field(field(answer.body, "error"), "details");
    const isRefused = Array.isArray(details) && details.some((one) => field(one, "path") === "source.type");
    if (answer.status === 422 && isRefused) throw new Untried("this server runs no images");
    const record = expectSuccess(answer);
    const { source } = shape.expectShape(shape.deployment, record, answer);
    expect(source.image_url === image_url && source.repo === null, answer, `source is ${shown(source)}`);
    await cancel(on, record["id"]);
  },
  "repo is required for git, image_url for an image, and type for both": async (on) => {
    expectRefusal(await post(on, { source: { type: "git", branch: "main" } }), "the repo is missing");
    expectRefusal(await post(on, { source: { type: "image" } }), "the image_url is missing");
    expectRefusal(await post(on, { source: { repo: "svc-verify/app" } }), "the type is missing");
    expectRefusal(
      await post(on, { source: { type: "archive", repo: "svc-verify/app" } }),
      "the type is neither git nor image",
    );
  },
  "repo has the form owner/repo": async (on) =>
    expectRefusal(
      await post(on, { source: { ...git, repo: "https://example.com/svc-verify/app" } }),
      "the repo is a URL",
    ),
  "project_id, environment and source are required": async (on) => {
    for (const name of ["project_id", "environment", "source"])
      expectRefusal(await post(on, { [name]: undefined }), `${name} is missing`);
    expectRefusal(await post(on, { project_id: `proj_${unknownId}` }), "the project is unknown");
  },
});

const cancelling = changes("Deployments", {
  "A queued or building deployment can be cancelled": async (on) => {
    const { record } = await create(on, { environment: unique() });
    const answer = await cancel(on, record["id"]);
    const { status, completed_at, updated_at } = expectSuccess(answer);
    expect(status === "cancelled", answer, `status is ${shown(status)}`);
    expect(completed_at !== null && completed_at !== undefined, answer, "completed_at is not set");
    expect(Date.parse(String(updated_at)) >= Date.parse(String(record["updated_at"])), answer, "updated_at went back");
  },
  "A cancel changes updated_at": async (on) => {
    const { record } = await create(on, { environment: unique() });
    await on.pause(1_100);
    const answer = await cancel(on, record["id"]);
    if (answer.status >= 400) throw new Untried("deployments end here within a second of their creation");
    const { updated_at } = expectSuccess(answer);
    expect(updated_at !== record["updated_at"], answer, `updated_at stays ${shown(updated_at)}`);
  },
  "A building deployment can be cancelled": async (on) => {
    const { record: made } = await create(on, { environment: unique() });
    const { record } = await after(on, made["id"], "queued");
    if (record["status"] !== "building")
      throw new Untried(`the deployment was ${record["status"]} when it was looked at again`);
    const answer = await cancel(on, made["id"]);
    // The deployment may have left that state in the meantime.
    if (answer.status >= 400 && recordOf(await on.get(`/deployments/${made["id"]}`))["status"] !== "building")
      throw new Untried("the deployment left the state building before the cancel came");
    const { status } = expectSuccess(answer);
    expect(status === "cancelled", answer, `status is ${shown(status)}`);
  },
  "A cancelled deployment cannot be cancelled again": async (on) => {
    const { record } = await create(on, { environment: unique() });
    expectSuccess(await cancel(on, record["id"]));
    expectRefusal(await cancel(on, record["id"]), "it is cancelled already");
  },
  "An active deployment cannot be cancelled": async (on) => {
    const { id } = await firstRelease(on);
    expectRefusal(await cancel(on, id), "it is active");
    const now = await on.get(`/deployments/${id}`);
    expect(recordOf(now)["status"] === "active", now, `the refused cancel made it ${shown(recordOf(now)["status"])}`);
  },
});

const lifecycle = changes("Deployments", {
  "An active deployment has completed_at and version": async (on) => {
    const { id } = await firstRelease(on);
    const answer = await on.get(`/deployments/${id}`);
    const { version, completed_at } = recordOf(answer);
    expect(
      typeof version === "string" && typeof completed_at === "string",
      answer,
      `version is ${shown(version)}, completed_at ${shown(completed_at)}`,
    );
  },
  "A tag takes precedence over a branch": async (on) => {
    const { id, version } = await firstRelease(on);
    const answer = await on.get(`/deployments/${id}`);
    expect(version === "v1.0.0", answer, `the version of the tag v1.0.0 is ${shown(version)}`);
  },
  "Only states of the documented order follow each other": async (on) => {
    const places = (await observed(on)).map(({ record }) => order.indexOf(String(record["status"])));
    for (const [i, place] of places.entries()) {
      const { answer, record } = (await observed(on))[i] as Made;
      const before = places[i - 1] ?? 0;
      expect(place === -1 || place > before, answer, `${record["status"]} followed ${order[before]}`);
    }
  },
  "version is null until the build has ended, and completed_at until the end": async (on) => {
    for (const { answer, record } of await observed(on)) {
      const { status, version, completed_at } = shape.expectShape(shape.deployment, record, answer);
      expect(status !== "building" || version === null, answer, `it is building with the version ${shown(version)}`);
      const isTerminal = shape.terminal.some((state) => state === status);
      expect(
        isTerminal === (completed_at !== null),
        answer,
        `it is ${status} with completed_at ${shown(completed_at)}`,
      );
    }
  },
  "The log of a deployment that has ended has entries": async (on) => {
    const { id } = await firstRelease(on);
    const answer = await on.get(`/deployments/${id}/logs`);
    expect(itemsOf(answer).length > 0, answer, "the log is empty");
    for (const entry of itemsOf(answer)) shape.expectShape(shape.logEntry, entry, answer);
  },
  "The filters find a new deployment": async (on) => {
    const { id } = await firstRelease(on);
    const { id: project_id } = await ownProject(on);
    for (const more of ["", "&environment=live", "&status=active", "&environment=live&status=active"]) {
      const answer = await on.get(`/deployments?project_id=${project_id}${more}`);
      expect(
        itemsOf(answer).some((item) => item["id"] === id),
        answer,
        `the list lacks ${id}`,
      );
    }
    const other = await on.get(`/deployments?project_id=${project_id}&environment=${unique()}`);
    expect(itemsOf(other).length === 0, other, "an environment without deployments has some");
  },
  "A list with per_page=1 leads through all deployments of a project": async (on) => {
    // No check creates deployments after these two, so the list is stable.
    await Promise.all([restoredRelease(on), observed(on)]);
    const { id: project_id } = await ownProject(on);
    const all = itemsOf(await on.get(`/deployments?project_id=${project_id}&per_page=100`)).length;
    const ids = new Set<unknown>();
    for (let [page, more] = [0, ""]; page <= all; page++) {
      const answer = await on.get(`/deployments?project_id=${project_id}&per_page=1${more}`);
      const [item] = itemsOf(answer);
      expect(item === undefined || !ids.has(item["id"]), answer, `${shown(item?.["id"])} is on two pages`);
      if (item) ids.add(item["id"]);
      const cursor = pageOf(answer).next_cursor;
      if (cursor === undefined) return expect(ids.size === all, answer, `${ids.size} of ${all} deployments came`);
      more = `&cursor=${encodeURIComponent(String(cursor))}`;
    }
    expect(false, on.last as Answer, "the pages do not end");
  },
});

export const deploymentWrites: readonly Check[] = [...creation, ...cancelling, ...lifecycle, ...rollingBack];
