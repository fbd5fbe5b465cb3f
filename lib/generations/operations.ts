import { operationsOf } from "../kernel/operation.ts";
import { awaitable, byId } from "../kernel/validation.ts";
import { generation, generationsQuery, newGeneration, usage, usageQuery } from "./schema.ts";
import type { GenerationsService } from "./service.ts";

const operation = operationsOf<{ generations: GenerationsService }>();

/** SPEC "Endpoints", generations, with the additions of CONTRACT section 9. */
export const generationsOperations = [
  operation({
    id: "generations.list",
    summary: "List the generations, newest first",
    method: "GET",
    path: "/generations",
    needs: "generations:read",
    answers: "list",
    addition: true,
    query: generationsQuery,
    result: generation,
    problems: [],
    run: ({ query }, { generations }, caller) => generations.list(caller, query),
  }),
  operation({
    id: "generations.create",
    summary: "Run a model on a prompt and further inputs",
    method: "POST",
    path: "/generations",
    needs: "generations:write",
    answers: "created",
    body: newGeneration,
    result: generation,
    problems: [],
    run: ({ body }, { generations }, caller) => generations.create(caller, body),
  }),
  operation({
    id: "generations.get",
    summary: "Get a generation, and a new link to its file once it is finished",
    method: "GET",
    path: "/generations/{id}",
    needs: "generations:read",
    answers: "object",
    params: byId,
    query: awaitable,
    result: generation,
    problems: ["not_found"],
    run: ({ params, query, signal }, { generations }, caller) =>
      generations.get(caller, params.id, { seconds: query.wait, signal }),
  }),
  operation({
    id: "generations.cancel",
    summary: "Cancel a generation that has not ended: it has failed then, with the code `cancelled`",
    method: "POST",
    path: "/generations/{id}/cancel",
    needs: "generations:write",
    answers: "object",
    addition: true,
    params: byId,
    result: generation,
    problems: ["not_found", "not_cancellable"],
    run: ({ params }, { generations }, caller) => generations.cancel(caller, params.id),
  }),
  operation({
    id: "generations.usage",
    summary: "What finished generations cost, by day in UTC and by model",
    method: "GET",
    path: "/usage",
    needs: "generations:read",
    answers: "object",
    addition: true,
    query: usageQuery,
    result: usage,
    problems: [],
    run: ({ query }, { generations }, caller) => generations.usage(caller, query),
  }),
];
