/** A range of kernel user ids that no other program uses. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/** Parses `1879048192:65536`, the end of a line in /etc/subuid; undefined for anything else. */
export function parseUserRange(text: string): UserRange | undefined {
  const [, first, count] = /^([1-9]\d{2,9}):([1-9]\d{0,9})$/.exec(text) ?? [];
  const range = { first: Number(first), count: Number(count) };
  return first !== undefined && range.first + range.count <= 2 ** 32 - 2 ? range : undefined;
}
