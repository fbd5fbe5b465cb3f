/** What a file is, told by its bytes and by nobody else. */
export function sniff(bytes: Uint8Array): string {
  const begin = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (begin.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (begin.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (begin.startsWith("RIFF") && begin.endsWith("WEBP")) return "image/webp";
  return begin.slice(4, 8) === "ftyp" ? "video/mp4" : "application/octet-stream";
}
