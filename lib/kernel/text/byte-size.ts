const units: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };

/** The bytes of a text such as `"512MiB"` or `"2GiB"`; undefined for any other text. */
export function parseByteSize(text: string): number | undefined {
  const [, amount = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?) ?(B|KiB|MiB|GiB|TiB)$/.exec(text) ?? [];
  const factor = units[unit];
  return factor === undefined ? undefined : Math.floor(Number(amount) * factor);
}

/** Formats a number of bytes for people: `1.5 MiB`. */
export function byteSizeText(bytes: number): string {
  const unit = Object.entries(units).findLast(([, factor]) => bytes >= factor) ?? ["B", 1];
  return `${Number((bytes / unit[1]).toFixed(1))} ${unit[0]}`;
}
