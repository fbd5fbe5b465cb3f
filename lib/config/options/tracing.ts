import * as v from "valibot";
import { option } from "./option-types.ts";

export const tracing = option(v.boolean(), {
  default: false,
  help: "Sends OpenTelemetry spans for requests, transactions, jobs, deliveries and builds to the tracer provider that the program has registered before the start. It needs the package `@opentelemetry/api`.",
  flag: "tracing",
});
