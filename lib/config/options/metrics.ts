import { textLike } from "../../kernel/validation.ts";
import { group, option } from "./option-types.ts";

export const metrics = group({
  key: option(
    textLike(4096, /^(?!sk_live_)[\x21-\x7e]{16,}$/, "must be 16 to 4096 visible ASCII characters, and no API key"),
    {
      help: "The key with which a collector on another machine reads `/metrics` of the whole service: `Authorization: Bearer <key>`. Without it, the collector must be on this machine.",
      example: '"metrics_demo_key_0001"',
    },
  ),
});
