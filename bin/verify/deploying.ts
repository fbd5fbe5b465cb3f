import {
  type Answer,
  type Check,
  changes,
  expect,
  expectFields,
  expectListed,
  expectRefusal,
  expectSuccess,
  field,
  type Item,
  itemsOf,
  type Made,
  type Probe,
  pageOf,
  recordIn,
  recordOf,
  shown,
  Untried,
  unknownId,
} from "./check.ts";
import { ownProject, unique } from "./own-project.ts";
import { after, cancel, create, firstRelease, git, observed, order, post, restoredRelease } from "./releases.ts";
import { rollingBack } from "./rolling-back.ts";
import * as shape from "./shapes.ts";

const creation = changes("Deployments", {
  "POST /deployments answers a queued deployment with version and completed_at null, and its whole source": async (
    on,
  ) => {
    const made = await create(on);
    const { source } = shape.expectShape(shape.deployment, made, {
      status: "queued",
      version: null,
      completed_at: null,
    });
    expectFields({ ...made, record: source }, { repo: git.repo, branch: git.branch, tag: null, image_url: null });
  },
  "An image is a source": async (on) => {
    const image_url = "registry.example.com/svc-verify/app:1.0.0";
    const answer = await post(on, { source: { type: "image", image_url } });
    // A server with a runtime may refuse images. The error then names this field.
    const details: unknown = field(field(answer.body, "error"), "details");
    const isRefused = Array.isArray(details) && details.some((one) => field(one, "path") === "source.type");
    if (answer.status === 422 && isRefused) throw new Untried("this server runs no images");
    const { id, source } = shape.expectShape(shape.deployment, expectSuccess(answer));
    expectFields({ answer, record: source }, { image_url, repo: null });
    await cancel(on, id);
  },
  "repo is required for git, image_url for an image, and type for both": (on) =>
    refusesSources(on, {
      "the repo is missing": { type: "git", branch: "main" },
      "the image_url is missing": { type: "image" },
      "the type is missing": { repo: git.repo },
      "the type is neither git nor image": { type: "archive", repo: git.repo },
    }),
  "repo has the form owner/repo": (on) =>
    refusesSources(on, { "the repo is a URL": { ...git, repo: "https://example.com/svc-verify/app" } }),
  "project_id, environment and source are required": async (on) => {
    for (const name of ["project_id", "environment", "source"])
      expectRefusal(await post(on, { [name]: undefined }), `${name} is missing`);
    expectRefusal(await post(on, { project_id: `proj_${unknownId}` }), "the project is unknown");
  },
});

/** Expects the server to refuse a deployment of each source. The keys are the reasons. */
async function refusesSources(on: Probe, sources: Readonly<Record<string, Item>>): Promise<void> {
  for (const [why, source] of Object.entries(sources)) expectRefusal(await post(on, { source }), why);
}

/** Cancels a deployment, and expects that it is cancelled afterwards. */
async function cancels(on: Probe, id: unknown): Promise<Made> {
  const made = expectSuccess(await cancel(on, id));
  expectFields(made, { status: "cancelled" });
  return made;
}

const cancelling = changes("Deployments", {
  "A queued or building deployment can be cancelled": async (on) => {
    const { record } = await create(on, { environment: unique() });
    const { answer, record: now } = await cancels(on, record["id"]);
    expect(Boolean(now["completed_at"]), answer, "completed_at is not set");
    const [before, after] = [record, now].map(({ updated_at }) => Date.parse(String(updated_at)));
    expect(Number(after) >= Number(before), answer, "updated_at went back");
  },
  "A cancel changes updated_at": async (on) => {
    const { record } = await create(on, { environment: unique() });
    await on.pause(1_100);
    const answer = await cancel(on, record["id"]);
    if (answer.status >= 400) throw new Untried("deployments end here within a second of their creation");
    const { updated_at } = expectSuccess(answer).record;
    expect(updated_at !== record["updated_at"], answer, `updated_at stays ${shown(updated_at)}`);
  },
  "A building deployment can be cancelled": async (on) => {
    const { record: made } = await create(on, { environment: unique() });
    const { record } = await after(on, made["id"], "queued");
    if (record["status"] !== "building")
      throw new Untried(`the deployment was ${record["status"]} when it was looked at again`);
    const answer = await cancel(on, made["id"]);
    // The deployment may have left that state before the cancel arrived.
    if (answer.status >= 400 && recordOf(await on.get(`/deployments/${made["id"]}`))["status"] !== "building")
      throw new Untried("the deployment left the state building before the cancel came");
    expectFields(expectSuccess(answer), { status: "cancelled" });
  },
  "A cancelled deployment cannot be cancelled again": async (on) => {
    const { record } = await create(on, { environment: unique() });
    await cancels(on, record["id"]);
    expectRefusal(await cancel(on, record["id"]), "it is cancelled already");
  },
  "An active deployment cannot be cancelled": async (on) => {
    const { id } = await firstRelease(on);
    expectRefusal(await cancel(on, id), "it is active");
    expectFields(recordIn(await on.get(`/deployments/${id}`)), { status: "active" });
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
    const record = await firstRelease(on);
    const answer = await on.get(`/deployments/${record["id"]}`);
    expectFields({ answer, record }, { version: "v1.0.0" });
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
    for (const made of await observed(on)) {
      const { answer } = made;
      const { status, version, completed_at } = shape.expectShape(shape.deployment, made);
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
    for (const record of itemsOf(answer)) shape.expectShape(shape.logEntry, { answer, record });
  },
  "The filters find a new deployment": async (on) => {
    const { id } = await firstRelease(on);
    const { id: project_id } = await ownProject(on);
    for (const more of ["", "&environment=live", "&status=active", "&environment=live&status=active"])
      expectListed(await on.get(`/deployments?project_id=${project_id}${more}`), id);
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
