import { join } from "node:path";
import { test } from "node:test";
import { killBetweenAnswers } from "../helpers/killed-answers.ts";
import { folderOf } from "../helpers/temporary-store.ts";

test("a kill between the answers of one commit loses nothing that was answered, and does nothing twice", (t) =>
  killBetweenAnswers(join(folderOf(t), "svc.db")));
