/** A database that this service refuses, with the reason and what would mend it. */
export class Unusable extends Error {
  constructor(path: string, reason: string, cause?: unknown) {
    super(`the database ${path} cannot be used: ${reason}`, { cause });
    this.name = "Unusable";
  }
}
