import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { control, type SentMail } from "../control.ts";
import { Action, Button, Field, FormDialog } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { Form } from "../forms/form.tsx";
import { type Change, useRead } from "../live.ts";
import { Once, useOpen } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { href } from "../router.ts";
import { Empty, Loading, Page, Text, Time } from "../ui.tsx";
import { Halves } from "./halves.tsx";

const concerns = ({ kind, event }: Change) =>
  kind === "journal" || kind === "instruments" || kind === "record" || event !== undefined;

const nameOf = ({ id }: SentMail) => id;

/** The mails of the service. */
export function MailPage() {
  const { data, error } = useRead("mail", control.mails, concerns);
  const [key, setKey] = useState<string>();
  const [search, setSearch] = useState("");
  const wanted = search.toLowerCase();
  const mails = data
    ?.toReversed()
    .filter(({ to, subject, text }) => `${to}\n${subject}\n${text}`.toLowerCase().includes(wanted));
  const open = useOpen(mails ?? [], nameOf, "mail");
  return (
    <Page
      title="Mail"
      actions={
        <FormDialog
          label="Clear"
          title="Clear the mails?"
          kind="danger"
          reason={data?.length === 0 ? "There is no mail." : undefined}
          run={control.clearMails}
        >
          <p>All mails go. Invitations stay open, and can be sent again.</p>
        </FormDialog>
      }
    >
      {key !== undefined && <Once label="The API key of the new member" secret={key} />}
      {!mails && <Loading error={error} />}
      {data && data.length > 0 && (
        <search class="filters">
          <Field label="Search" type="search" value={search} onInput={setSearch} />
        </search>
      )}
      {mails?.length === 0 && (
        <Empty>{data?.length ? "No mail contains this." : "No mail yet. Invite someone on the People page."}</Empty>
      )}
      {mails && mails.length > 0 && (
        <Halves
          of={mails}
          open={open}
          nameOf={nameOf}
          parameter="mail"
          label="Mails"
          entry={(one) => (
            <>
              <Text of={one.to} />
              <Text of={one.subject} />
              <Time at={one.sent_at} />
            </>
          )}
        >
          {open && <Mail key={nameOf(open)} of={open} onKey={setKey} />}
        </Halves>
      )}
    </Page>
  );
}

/** Keeps only the path, which leads to a page of this dashboard: the mail may name another host. */
const linkOf = (link: string): string => {
  const { pathname, search, hash } = new URL(link, location.origin);
  return pathname + search + hash;
};

/** The text of a mail with a working link. */
function Body({ of: { text, link } }: { of: SentMail }) {
  const [before, ...after] = text.split(link);
  return (
    <p class="mail-text">
      {before}
      {after.map((part) => (
        <>
          <a href={linkOf(link)} target="_blank" rel="noreferrer">
            {link}
          </a>
          {part}
        </>
      ))}
    </p>
  );
}

function Mail({ of, onKey }: { of: SentMail; onKey: (key: string) => void }) {
  const [isHtml, setHtml] = useState(of.html !== null);
  const accept = async ({ name }: { name: string }) => onKey((await control.accept(of.token, name)).api_key);
  return (
    <article class="detail">
      <h2>
        <Text of={of.subject} />
      </h2>
      <p class="facts">
        <span>
          to <Text of={of.to} />
        </span>
        <span class="mono">{instantOf(of.sent_at)}</span>
        <span>{of.status}</span>
      </p>
      {of.attempts.length > 0 && (
        <ol class="list" aria-label="Attempts">
          {of.attempts.map(({ at, error }) => (
            <li key={at} class={error === null ? "hint" : "problem"}>
              <span class="mono">{instantOf(at)}</span> <Text of={error ?? "handed to the mail server"} />
            </li>
          ))}
        </ol>
      )}
      {of.html !== null && (
        <div class="row">
          <Button kind="quiet" isPressed={isHtml} onClick={() => setHtml(true)}>
            HTML
          </Button>
          <Button kind="quiet" isPressed={!isHtml} onClick={() => setHtml(false)}>
            Text
          </Button>
        </div>
      )}
      {isHtml ? (
        <iframe
          class="mail-html"
          sandbox="allow-popups allow-popups-to-escape-sandbox"
          title={`${of.subject} as HTML`}
          src={href(`/session/mail/${of.id}`)}
        />
      ) : (
        <Body of={of} />
      )}
      <p class="row">
        <a href={linkOf(of.link)} target="_blank" rel="noreferrer">
          {of.token === "" ? "Open" : "Open the invitation"}
        </a>
        {of.status === "failed" && of.invitation_id !== null && (
          <Action reason={refusal("users:write")} run={() => api.invitations.resend({ id: of.invitation_id ?? "" })}>
            Send again
          </Action>
        )}
        {of.token !== "" && (
          <Form label="Accept the invitation" submit="Accept" kind="main" start={{ name: "" }} run={accept}>
            <Field label="Name" required />
          </Form>
        )}
      </p>
    </article>
  );
}
