import * as v from "valibot";
import { jobsOf } from "../../kernel/job.ts";
import type { MailsService } from "./service.ts";

const job = jobsOf<{ mails: MailsService }>();

export const mailsJobs = [
  job({
    kind: "mails.send",
    args: v.object({ organization_id: v.string(), id: v.string() }),
    run: (key, { mails }, lease) => mails.handOver(key, lease),
    exhausted: (key, reason, { mails }, tx) => mails.giveUp(tx, key, reason),
  }),
];
