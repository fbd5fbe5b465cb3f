import { useEffect, useState } from "preact/hooks";
import { readSignInMethods, signIn } from "../api.ts";
import { Button, Field } from "../controls.tsx";
import { Loading, Page } from "../ui.tsx";
import { Problem, useWork } from "../work.tsx";

type SignInMethods = Awaited<ReturnType<typeof readSignInMethods>>;

export function SignInPage() {
  const [ways, setWays] = useState<SignInMethods>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    readSignInMethods().then(setWays, setError);
  }, []);
  if (!ways) return <Loading error={error} />;
  return (
    <div class="sign-in">
      <Page title="Sign in">
        {ways.oidc && <AtIssuer {...ways.oidc} />}
        {ways.oidc && ways.key && <p class="or">or</p>}
        {ways.key && <WithKey isMain={!ways.oidc} />}
      </Page>
    </div>
  );
}

/** Sends the browser to the issuer, which returns it to the same place. */
const AtIssuer = ({ name, url }: NonNullable<SignInMethods["oidc"]>) => (
  <Button
    kind="main"
    onClick={() => {
      const { pathname, search } = location;
      location.assign(`${url}?${new URLSearchParams({ to: pathname + search })}`);
    }}
  >
    {`Sign in with ${name}`}
  </Button>
);

function WithKey({ isMain }: { isMain: boolean }) {
  const [key, setKey] = useState("");
  const { isBusy, error, start } = useWork(() => signIn(key.trim()));
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <Field
          label="API key"
          type="password"
          required
          value={key}
          onInput={setKey}
          hint="Its role and scopes decide what you may do here. The browser does not keep it."
        />
        <Problem error={error} />
        <Button type="submit" {...(isMain && { kind: "main" })} isBusy={isBusy}>
          {isMain ? "Sign in" : "Sign in with the key"}
        </Button>
      </form>
      <p class="hint">
        No key? On the server: <code>svc-server keys create</code>
      </p>
    </>
  );
}
