import { createPainter } from "../../lib/drivers/painter/painter.ts";

/** Paints the given order, writes the file to stdout, and closes nothing. */
const { bytes } = await createPainter().paint(JSON.parse(process.argv[2] ?? ""));
process.stdout.write(bytes);
