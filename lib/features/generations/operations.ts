import { operationsOf } from "../../kernel/operation.ts";
import { awaitable, pageQuery } from "../../kernel/validation.ts";
import { generation, newGeneration, usage, usageQuery } from "./schema.ts";
import type { GenerationsService } from "./service.ts";

const operation = operationsOf<{ generations: GenerationsService }>();

export const generationsOperations = [
  operation({
    id: "generations.list",
    summary: "List generations, newest first",
    description:
      "Lists the generations of the organization, one page at a time. Each entry has the same fields as a single generation.",
    route: "GET /generations",
    needs: "generations:read",
    answers: "list",
    query: pageQuery,
    result: generation,
    run: ({ query }, { generations }, caller) => generations.list(caller, query),
  }),
  operation({
    id: "generations.create",
    summary: "Start a generation",
    description:
      "Queues a run of a model and returns it at once; image and video models share this operation. Built-in models check their inputs against their own lists; other model ids run a generic model, unless the service is set to refuse them. A run that fails costs nothing.",
    route: "POST /generations",
    needs: "generations:write",
    answers: "created",
    specified: true,
    audited: false,
    body: newGeneration,
    result: generation,
    run: ({ body }, { generations }, caller) => generations.create(caller, body),
  }),
  operation({
    id: "generations.get",
    summary: "Get a generation",
    description:
      "Returns one generation. When it is finished, `output.url` is a download link that needs no key and is valid for 24 hours; every request makes a new link. With `wait`, the response comes as soon as the generation has ended, or after that many seconds with its state at that time; set your client's timeout higher than that.",
    route: "GET /generations/{id}",
    needs: "generations:read",
    answers: "object",
    specified: true,
    query: awaitable,
    result: generation,
    run: ({ params, query, signal }, { generations }, caller) =>
      generations.get(caller, params.id, { seconds: query.wait, signal }),
  }),
  operation({
    id: "generations.cancel",
    summary: "Cancel a queued or running generation",
    description:
      "Stops the run. The generation ends as `failed` with the error code `cancelled` and costs nothing. A generation that has already ended is refused with 409 `not_cancellable`.",
    route: "POST /generations/{id}/cancel",
    needs: "generations:write",
    answers: "object",
    result: generation,
    problems: ["not_cancellable"],
    run: ({ params }, { generations }, caller) => generations.cancel(caller, params.id),
  }),
  operation({
    id: "generations.usage",
    summary: "Get the cost of generations by day and model",
    description:
      "Returns the number and the cost of finished generations for each UTC day and model, with a total. `from` and `to` are included; without them the report covers all time.",
    route: "GET /usage",
    needs: "generations:read",
    answers: "object",
    query: usageQuery,
    result: usage,
    run: ({ query }, { generations }, caller) => generations.usage(caller, query),
  }),
];
