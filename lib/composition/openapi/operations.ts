import { operationsOf } from "../../kernel/operation.ts";
import type { OpenapiService } from "./service.ts";

const operation = operationsOf<{ openapi: OpenapiService }>();

export const openapiOperations = [
  operation({
    id: "openapi.get",
    summary: "Get this OpenAPI document",
    description:
      "Returns the OpenAPI 3.1 document of the interface, in the response envelope that the service uses. No key is needed.",
    route: "GET /openapi.json",
    needs: "nothing",
    answers: "document",
    run: (_, { openapi }) => openapi.get(),
  }),
];
