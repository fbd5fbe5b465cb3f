/** The media type of a file, by its first bytes alone; `application/octet-stream` for any other. */
export function mediaTypeOf(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("RIFF") && head.endsWith("WEBP")) return "image/webp";
  return head.slice(4, 8) === "ftyp" ? "video/mp4" : "application/octet-stream";
}
