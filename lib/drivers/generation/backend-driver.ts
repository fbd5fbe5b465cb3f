import type { BackendNetwork } from "./backend-client.ts";
import { type CommandOptions, commandDriver } from "./command.ts";
import type { GenerationDriver } from "./contract.ts";
import { type OpenaiOptions, openaiImages } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import { predictions } from "./predictions.ts";
import { sdcpp } from "./sdcpp.ts";

/** An entry of the option `generations.backends`. */
export type BackendSettings =
  | ({ readonly type: "openai" | "predictions" | "sdcpp" | "openrouter" } & OpenaiOptions)
  | ({ readonly type: "command" } & CommandOptions);

export function backendDriver(settings: BackendSettings, outbound: BackendNetwork): GenerationDriver {
  switch (settings.type) {
    case "openai":
      return openaiImages(settings, outbound);
    case "predictions":
      return predictions(settings, outbound);
    case "sdcpp":
      return sdcpp(settings, outbound);
    case "openrouter":
      return openrouter(settings, outbound);
    case "command":
      return commandDriver(settings);
  }
}
