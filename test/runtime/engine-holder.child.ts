// Keeps a folder of an engine until it is killed, and prints its network.
import { freedAtEnd, subnet } from "../helpers/engine-leftovers.ts";

freedAtEnd(process.argv[2] ?? "");
process.stdout.write(subnet);
