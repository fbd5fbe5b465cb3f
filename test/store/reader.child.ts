/** Another program: it reads a database in one transaction until its input ends. */
import Database from "better-sqlite3";

const database = new Database(process.argv[2]);
database.exec("BEGIN");
database.prepare("select count(*) from events").get();
process.stdout.write("reading\n");
process.stdin.resume().on("end", () => database.close());
