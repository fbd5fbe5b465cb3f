import { useState } from "preact/hooks";
import type { Member } from "../../../client/generated/records.ts";
import { actAs, api, loadSession, people, readSignInMethods, session, signIn } from "../api.ts";
import { Action, Button, Field } from "../controls.tsx";
import { Once } from "../parts.tsx";
import { go } from "../router.ts";
import { Page, Text } from "../ui.tsx";
import { Problem, useWork } from "../work.tsx";

/** The page that an invitation mail links to, `/accept#<token>`. It needs the token instead of a session. */
export function AcceptPage() {
  const [token] = useState(() => location.hash.slice(1));
  const [member, setMember] = useState<Member>();
  const [name, setName] = useState("");
  const { isBusy, error, start } = useWork(async () => {
    const made = await api.invitations.accept({ token, name });
    // Removes the used token from the browser's history.
    history.replaceState(null, "", location.pathname);
    setMember(made);
  });
  if (member) return <Welcome of={member} />;
  return (
    <div class="sign-in">
      <Page title="Accept the invitation">
        {token === "" ? (
          <p>This link has no token. Open the link in the mail again, or ask for a new invitation.</p>
        ) : (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void start();
            }}
          >
            <Field label="Your name" name="name" value={name} onInput={setName} hint="Others see it." required />
            <Problem error={error} />
            {error !== undefined && (
              <p class="hint">An invitation works once, for 7 days. The person who invited you can send a new one.</p>
            )}
            <Button type="submit" kind="main" reason={isBusy ? "This is already running." : undefined}>
              Accept
            </Button>
          </form>
        )}
      </Page>
    </div>
  );
}

/** Shows the new member's first key, this one time, and the way to sign in. */
function Welcome({ of }: { of: Member }) {
  const enter = async () => {
    if (session.value?.mode === "dev") {
      const own = (await people()).find(({ person }) => person.endsWith(`.${of.id}`));
      if (own) actAs(own.person);
      await loadSession();
    } else if ((await readSignInMethods()).key) await signIn(of.api_key);
    go("/");
  };
  return (
    <div class="sign-in">
      <Page title="Welcome">
        <p>
          <Text of={of.name} />, you are now a member as {of.role}.
        </p>
        <Once label="Your API key" secret={of.api_key} />
        <p class="hint">Programs use it to call the API. You can also sign in with it.</p>
        <Action kind="main" run={enter}>
          Go to the dashboard
        </Action>
      </Page>
    </div>
  );
}
