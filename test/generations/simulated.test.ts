import { conforms } from "../helpers/generation-driver.ts";
import { sharedPainter } from "../helpers/painter.ts";

const driver = sharedPainter();

conforms("simulated", async () => driver());
