import type { JSONObject, Tool as ToolInfo } from "@modelcontextprotocol/server";
import { controlCalls } from "../lib/emulator/control/calls.ts";
import { documentedOperations, formsOf, type OperationInfo, partsOf, requiredOf } from "./call-fields.ts";
import { clientOf, connectionOf, explainedError } from "./connection.ts";
import { controlOf, NoControl } from "./control-client.ts";
import type { Given } from "./define-command.ts";
import { infoOf, requestOf } from "./instruments.ts";

type Input = Readonly<Record<string, unknown>>;

export interface Tool {
  readonly info: ToolInfo;
  /** Rejects with a readable error. */
  call(input: Input, signal: AbortSignal): Promise<unknown>;
}

/** `events.stream` needs a persistent connection; `openapi.get` describes the tools themselves. */
const noTools: readonly string[] = ["events.stream", "openapi.get"];

/** POST calls that end, undo or replace something. Other POST calls only add or restore. */
const destructive: readonly string[] = ["archive", "cancel", "reset", "restart", "restore", "rollback", "suspend"];

/** Merges parameters and body into one object, because many clients refuse a schema that is not one plain object. */
function inputSchemaOf(fields: Input): ToolInfo["inputSchema"] {
  const parts = partsOf(fields);
  // A tool returns one result, so it cannot follow a log.
  const names = parts.names.filter((name) => name !== "follow");
  const properties = names.map((name) => {
    const [first, ...others] = (parts.of(name)?.["anyOf"] ?? []) as Input[];
    return [name, others.length > 0 ? { anyOf: [first, ...others] } : first];
  });
  return {
    type: "object",
    properties: Object.fromEntries(properties) as JSONObject,
    required: [...new Set(requiredOf(fields))],
    ...(formsOf(fields).some((form) => form["additionalProperties"]) && { additionalProperties: true }),
  };
}

function toolInfo(id: string, { method, summary, description, fields }: OperationInfo): ToolInfo {
  const verb = id.slice(id.indexOf(".") + 1);
  return {
    name: id.replace(".", "_"),
    title: summary,
    description: `${summary}. ${description}`.trim(),
    inputSchema: inputSchemaOf(fields),
    annotations: {
      readOnlyHint: method === "GET",
      destructiveHint: method === "POST" ? destructive.includes(verb) : method !== "GET",
      openWorldHint: false,
    },
  };
}

function operationTools(args: Given): Tool[] {
  const connection = connectionOf(args);
  // Throws at the start of the command if no header can hold the key.
  const client = clientOf(connection);
  return documentedOperations()
    .filter(({ id }) => !noTools.includes(id))
    .map((operation) => ({
      info: toolInfo(operation.id, operation),
      call: (input, signal) =>
        client
          .call(operation.id, input, { signal })
          .catch((error: unknown) => Promise.reject(explainedError(error, connection))),
    }));
}

function instrumentTools(args: Given): Tool[] {
  const control = controlOf(args);
  return controlCalls.flatMap((call) => {
    if (call.id === undefined) return [];
    const info = infoOf(call);
    return {
      info: toolInfo(call.id, info),
      async call(input) {
        const request = requestOf(call, info, input);
        return control(request.call, request.body);
      },
    };
  });
}

/** The tools for the service that the options select, by name. */
export function createTools(args: Given) {
  const [operations, instruments] = [operationTools(args), instrumentTools(args)];
  const byName = new Map([...operations, ...instruments].map((tool) => [tool.info.name, tool]));
  const look = controlOf(args, 5_000);
  return {
    find: (name: string) => byName.get(name),
    /**
     * Lists the tools. Omits the instruments if the service answers that it has none. A service that does not answer
     * yet may have them.
     */
    async list(): Promise<ToolInfo[]> {
      const hasNone = await look("GET clock").then(
        () => false,
        (error: unknown) => error instanceof NoControl,
      );
      return (hasNone ? operations : [...operations, ...instruments]).map(({ info }) => info);
    },
  };
}
