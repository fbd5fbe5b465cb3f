import { operationsOf } from "../kernel/operation.ts";
import type { OpenapiService } from "./service.ts";

const operation = operationsOf<{ openapi: OpenapiService }>();

export const openapiOperations = [
  operation({
    id: "openapi.get",
    summary: "Get the OpenAPI 3.1 document of this interface, in the envelope that is in force",
    method: "GET",
    path: "/openapi.json",
    needs: "nothing",
    answers: "document",
    addition: true,
    problems: [],
    run: (_, { openapi }) => openapi.get(),
  }),
];
