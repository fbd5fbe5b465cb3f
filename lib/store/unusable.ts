/** A database that this service refuses, with the reason and what would mend it. */
export class Unusable extends Error {
  constructor(path: string, reason: string, cause?: unknown) {
    super(`the database ${path} cannot be used: ${reason}`, { cause });
    this.name = "Unusable";
  }
}

/** The reason in words that tell what would mend it. */
export function sentence(error: unknown): string {
  const code = String((error as { code?: string }).code ?? "");
  if (/^SQLITE_(READONLY|CANTOPEN)|^E(ACCES|PERM|ROFS)$/.test(code)) {
    return "the file or its folder is read-only or cannot be opened; give this user the right to write there";
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return "it is damaged; restore it from a backup";
  if (code.startsWith("SQLITE_BUSY")) return "another program holds it; close that one first";
  if (code.startsWith("SQLITE_FULL") || code === "ENOSPC") return "the disk is full; make room first";
  return (error as Error).message;
}
