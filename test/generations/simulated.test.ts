import { gallery } from "../gallery.ts";
import { conforms } from "../generation-driver.ts";

const driver = gallery();

conforms("simulated", async () => driver());
