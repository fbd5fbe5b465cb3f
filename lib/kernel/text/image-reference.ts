const host =
  "(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*|\\[[0-9a-fA-F:]+\\])(?::\\d{1,5})?";
const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const image = new RegExp(
  `^(?:${host}/)?${component}(?:/${component})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
);

/** Whether a text is a valid image name for registries. */
export const isImageName = (text: string): boolean => text.length <= 512 && image.test(text);

/** The parts of an image name. */
export interface ImageReference {
  /** `docker.io`, `registry.example.com:5000`. */
  readonly registry: string;
  /** `library/nginx`, `team/app`. */
  readonly repository: string;
  readonly tag: string | null;
  /** `sha256:…` */
  readonly digest: string | null;
}

/** The registry of names that do not contain one. */
export const defaultRegistry = "docker.io";

/** Parses an image name. The first part is a registry if it looks like a host: with a dot or a port. */
export function parseReference(text: string): ImageReference {
  const [named = "", digest = null] = text.split("@", 2);
  const [, name = named, tag = null] = /^(.+):([^/:\]]+)$/.exec(named) ?? [];
  const [first = "", ...others] = name.split("/");
  const hasHost = others.length > 0 && (/[.:]/.test(first) || first.toLowerCase() === "localhost");
  const registry = hasHost ? first.toLowerCase() : defaultRegistry;
  const path = hasHost ? others.join("/") : name;
  if (registry !== defaultRegistry && registry !== "index.docker.io")
    return { registry, repository: path, tag, digest };
  return { registry: defaultRegistry, repository: path.includes("/") ? path : `library/${path}`, tag, digest };
}

/** The full name, which every engine accepts: `docker.io/library/nginx`. */
export const nameOf = ({ registry, repository }: ImageReference): string => `${registry}/${repository}`;

/** Registries on this machine use plain http, as in the engine. */
export const isLoopbackRegistry = ({ registry }: Pick<ImageReference, "registry">): boolean =>
  /^(localhost|127(\.\d{1,3}){3})(:\d+)?$/.test(registry);
