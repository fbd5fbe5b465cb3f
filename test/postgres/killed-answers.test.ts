import { test } from "node:test";
import { killBetweenAnswers } from "../helpers/killed-answers.ts";
import { emptyDatabase } from "./databases.ts";
import { encryptionKey } from "./several.ts";

test("a kill between the answers of one commit loses nothing that was answered, and does nothing twice", async (t) =>
  killBetweenAnswers((await emptyDatabase(t)).url, encryptionKey));
