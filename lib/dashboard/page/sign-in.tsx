import { useState } from "preact/hooks";
import { signIn } from "./api.ts";
import { Button, Field, Problem, useWork } from "./controls.tsx";
import { Page } from "./ui.tsx";

export function SignInPage() {
  const [key, setKey] = useState("");
  const { isBusy, error, start } = useWork(() => signIn(key.trim()));
  return (
    <div class="sign-in">
      <Page title="Sign in">
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
          <Button type="submit" kind="main" isBusy={isBusy}>
            Sign in
          </Button>
        </form>
        <p class="hint">
          No key? On the server: <code>svc-server keys create</code>
        </p>
      </Page>
    </div>
  );
}
