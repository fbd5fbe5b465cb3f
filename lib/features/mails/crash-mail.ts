import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { EventData } from "../events/catalog.ts";
import type { ProjectName } from "../projects/service.ts";
import type { UsersService } from "../users/service.ts";
import { inOneLine } from "./content.ts";
import type { MailsService } from "./service.ts";

interface Ports {
  readonly users: Pick<UsersService, "managers">;
  readonly mails: Pick<MailsService, "send">;
  readonly projectName: ProjectName;
  readonly origin: () => string;
  readonly hasDashboard: boolean;
}

export type CrashMail = ReturnType<typeof createCrashMails>;

/** Mails the owners and admins of an organization about a crash. */
export const createCrashMails =
  ({ users, mails, projectName, origin, hasDashboard }: Ports) =>
  async (tx: Tx, organization_id: string, crashed: EventData<"app.crashed">): Promise<void> => {
    const { project_id, environment, process, exit_code, restarts } = crashed;
    const project = inOneLine((await projectName(tx, organization_id, project_id)) ?? project_id);
    const code = exit_code === null ? "without an exit code" : `with the exit code ${exit_code}`;
    const link = `${origin()}/dashboard/projects/${project_id}/${encodeURIComponent(environment)}`;
    const content = {
      heading: `${project} crashed`,
      lines: [
        `The process ${process} of ${project} in ${environment} ended by itself ${code}, and is started again.`,
        `Processes of this release ended by themselves ${restarts === 1 ? "once" : `${restarts} times`} until now.`,
      ],
      button: hasDashboard ? { before: "See its log here", label: "Open the environment", link } : undefined,
      command: { before: "Its log:", text: `svc-server logs ${project_id} --environment ${environment}` },
      footer: "Owners and admins get this mail once for each release that crashes, and at most once in an hour.",
    };
    const subject = `${project} crashed in ${environment}`;
    for (const { email: to } of await users.managers(organization_id, tx))
      await mails.send(tx, organization_id, { to, subject, content, link });
  };
