import { certificateAdvice, windowsAdvice } from "./failure-advice.ts";

/** Output of programs that cannot reach a server. */
const failed =
  /\b(ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ECONNREFUSED)\b|could not resolve host|(name or service|hostname) not known|name resolution|no such host|no route to host|network is unreachable|connection refused|i\/o timeout|failed to establish a new connection/i;
const address = /https?:\/\/(?:[^\s/"'@]{1,200}@)?([\w.-]{1,253})(?::\d{1,5})?(\/[^\s"',):]{0,300})?/;
/** The host in a line that contains no URL. */
function hostIn(line: string): string | undefined {
  const word = ["ENOTFOUND ", "EAI_AGAIN ", "resolve host: ", "lookup "].find((one) => line.includes(one));
  return word === undefined ? undefined : /^[\w.-]{1,253}/.exec(line.slice(line.indexOf(word) + word.length))?.[0];
}
/** pip prints only the path, such as `/simple/flask/`. Its last line names the requested package. */
function isOfPip(line: string): boolean {
  const path = line.slice(line.lastIndexOf(": ") + 2);
  return line.includes("Failed to establish a new connection") && path.startsWith("/") && path.endsWith("/");
}
const requirement = /No matching distribution found for (\S{1,200})/;
const module = /(?:^|\s)([\w.-]{1,100}\.[a-z]{1,20}\/[\w./~-]{1,200}@v[\w.+-]{1,100}):? /;
const local = /^(127\.\d|localhost$)/;

/** The variable that selects another server of the same kind; undefined if an install script fetches from elsewhere. */
function variableOf(host: string, line: string): string | undefined {
  if (/^(\S+ )?(go: |\S+\.go:\d)/.test(line) || host === "proxy.golang.org") return "GOPROXY";
  return /\b(npm|registry|yarnpkg|npmjs)\b/.test(host) ? "npm_config_registry" : undefined;
}

/** The unreachable server that a line names, and the path or module that was requested there. */
function serverIn(line: string) {
  const [, host = hostIn(line), path] = address.exec(line) ?? [];
  if (host === undefined || local.test(host)) return undefined;
  return { host, asked: module.exec(line)?.[1] ?? path, variable: variableOf(host, line) };
}

const help = (variable: string | undefined) =>
  `name a server that builds can reach in deployments.buildVariables (${variable === undefined ? "" : `${variable}, or `}HTTPS_PROXY for a proxy)`;

/** A bundler's message about a missing package. Programs probe for packages, so Node's own message proves nothing. */
const unresolved =
  /(?:failed to resolve import|could not resolve|can't resolve) ["']((?:@[\w.-]{1,100}\/)?\w[\w.-]{0,100})/i;

/** webpack 4 uses a hash that OpenSSL 3 lacks. Node 17 and later include OpenSSL 3. */
const opensslAdvice = (line: string) =>
  /ERR_OSSL_EVP_UNSUPPORTED|digital envelope routines::unsupported/.test(line)
    ? "; its webpack is too old for this Node: set the variable NODE_OPTIONS of the environment to --openssl-legacy-provider, or name Node 16 in engines of package.json or .nvmrc"
    : undefined;

/** The package whose install script failed, as npm, yarn and pnpm print it. */
const scripted =
  /(?:^npm (?:error|ERR!) path |^error |^)\S*node_modules\/((?:@[\w.-]{1,100}\/)?\w[\w.-]{0,100})(?:$|: Command failed|: Running \w+ script, failed)/;

/**
 * Reads the output of a command. `advice` extends the reason of a failure: it names a server out of reach, a missing
 * package, or a package whose install script failed.
 */
export function createAdviceReader(): { read(line: string): void; advice(): string } {
  let isPip = false;
  let wanted: string | undefined;
  let absent: string | undefined;
  let script: string | undefined;
  let specific: string | undefined;
  let first: ReturnType<typeof serverIn>;
  return {
    read(line) {
      wanted ??= requirement.exec(line)?.[1];
      absent ??= unresolved.exec(line)?.[1];
      script ??= scripted.exec(line)?.[1];
      specific ??= windowsAdvice([line]) ?? certificateAdvice([line], true) ?? opensslAdvice(line);
      if (!failed.test(line)) return;
      isPip ||= isOfPip(line);
      first ??= serverIn(line);
    },

    advice() {
      if (specific !== undefined) return specific;
      if (isPip && wanted !== undefined)
        return `; it could not reach the package index of pip (pypi.org, unless PIP_INDEX_URL names another), which it asked for ${wanted}: ${help("PIP_INDEX_URL")}`;
      if (first === undefined && absent !== undefined)
        return `; it finds no package ${absent}: package.json does not list it, or it is optional and its install script failed, which installs leave out of the log`;
      if (first === undefined && script !== undefined)
        return `; the install script of the package ${script} failed: try a newer version of it, or an older Node (engines of package.json)`;
      if (first === undefined) return "";
      const { host, asked, variable } = first;
      return `; it could not reach ${host}${asked === undefined || asked === "/" ? "" : `, which it asked for ${asked}`}: ${help(variable)}`;
    },
  };
}

/** Warnings of npm, pnpm and yarn about a package that needs another Node, each with the requested version. */
const engines = [
  { sign: "EBADENGINE", range: /required: \{ node: '([^']{1,100})'/ },
  { sign: "Unsupported engine", range: /wanted: \{"node":"([^"]{1,100})"/ },
  { sign: 'The engine "node" is incompatible', range: /Expected version "([^"]{1,100})"/ },
] as const;

/** Reads the output of all commands: an install warns, and a later command fails. */
export function createEngineReader(): { read(line: string): void; advice(): string } {
  let asked: string | undefined;
  return {
    read(line) {
      const said = engines.find(({ sign }) => line.includes(sign));
      asked ??= said?.range.exec(line)?.[1];
    },
    advice: () =>
      asked === undefined
        ? ""
        : `; its packages need Node ${asked}, which this build does not have: name the version to use in engines of package.json or .nvmrc`,
  };
}
