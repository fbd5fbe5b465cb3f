/** The media type of a file, from its first bytes alone; `application/octet-stream` if they are unknown. */
export function mediaTypeOf(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("RIFF") && head.endsWith("WEBP")) return "image/webp";
  if (head.startsWith("\x1a\x45\xdf\xa3")) return "video/webm";
  return head.slice(4, 8) === "ftyp" ? "video/mp4" : "application/octet-stream";
}

/** Whether a file is complete, as far as its structure shows. Formats without a check count as complete. */
export function isWhole(bytes: Uint8Array): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (mediaTypeOf(bytes)) {
    case "image/png":
      return file.includes("IEND\xae\x42\x60\x82", 8, "latin1");
    case "image/jpeg":
      return file.includes("\xff\xd9", 2, "latin1");
    case "image/webp":
      return file.length >= 8 + file.readUInt32LE(4);
    case "video/mp4":
      return hasWholeBoxes(file);
    default:
      return true;
  }
}

/** Whether all boxes of an MP4 file end within the file. */
function hasWholeBoxes(file: Buffer): boolean {
  let at = 0;
  while (at + 8 <= file.length) {
    const short = file.readUInt32BE(at);
    if (short === 0) return true;
    if (short === 1 && at + 16 > file.length) return false;
    const size = short === 1 ? Number(file.readBigUInt64BE(at + 8)) : short;
    if (size < 8) return false;
    at += size;
  }
  return at === file.length;
}
