import mime from "mime";

export function mediaTypeOf(path: string): string {
  const type = mime.getType(path) ?? "application/octet-stream";
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type;
}
