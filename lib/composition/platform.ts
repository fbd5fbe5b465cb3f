import { appsService } from "../platform/apps/service.ts";
import { createCodeHost } from "../platform/code-host/code-host.ts";
import { createGitHost } from "../platform/git-host/git-host.ts";
import { createProxy } from "../platform/proxy/proxy.ts";
import { refusalOf } from "../platform/runtime/refused-sources.ts";
import { createRealDriver } from "./real-driver.ts";

/**
 * What really builds and runs apps. A service that simulates loads it only beside other servers, for a code host, or if
 * a runtime has run apps on its database.
 */
export const platform = { appsService, createCodeHost, createGitHost, createProxy, createRealDriver, refusalOf };
export type Platform = typeof platform;
