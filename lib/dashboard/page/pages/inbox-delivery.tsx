import { useState } from "preact/hooks";
import { verifySignatureAsync } from "../../../client/signature.ts";
import type { Caught } from "../control.ts";
import { Button, Field } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { Facts, indented, Ref } from "../parts.tsx";
import { subjectIn } from "../request-effects.tsx";
import { Section } from "../ui.tsx";
import { isGood, wordOf } from "./inbox-answers.ts";

/** A delivery as its receiver saw it. */
export function Delivery({ of: { url, headers, body, received_at, endpoint, response } }: { of: Caught }) {
  const subject = subjectIn(body);
  const [isRaw, setRaw] = useState(false);
  return (
    <article class="detail">
      <h2>{headers["x-service-event"] ?? "Delivery"}</h2>
      <p class="facts">
        <span>to {endpoint}</span>
        <span class="mono">{instantOf(received_at)}</span>
        <span>
          answered <span class={isGood(response) ? "mono good" : "mono bad"}>{wordOf(response)}</span>
        </span>
        {subject !== undefined && (
          <span>
            about <Ref of={subject} />
          </span>
        )}
      </p>
      <p class="mono text">POST {url}</p>
      <div class="mono">
        <Facts of={headers} />
      </div>
      <SignatureCheck body={body} header={headers["x-service-signature"]} />
      <Section
        title="Body"
        actions={
          <Button onClick={() => setRaw(!isRaw)}>{isRaw ? "Show it with line breaks" : "Show the raw text"}</Button>
        }
      >
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
        <pre class="tall" tabIndex={0}>
          {isRaw ? body : indented(body)}
        </pre>
      </Section>
    </article>
  );
}

/** Verifies the signature as a receiver does. The secret does not leave this page. */
function SignatureCheck({ body, header }: { body: string; header: string | undefined }) {
  const [secret, setSecret] = useState("");
  const [isRight, setRight] = useState<boolean>();
  if (header === undefined) return <p class="hint">It is not signed: its endpoint has no secret.</p>;
  return (
    <form
      class="signature"
      onSubmit={async (event) => {
        event.preventDefault();
        setRight(await verifySignatureAsync(secret, body, header));
      }}
    >
      <Field
        label="Secret"
        value={secret}
        onInput={(value) => {
          setSecret(value);
          setRight(undefined);
        }}
        hint="It is the key of the HMAC-SHA256 over the raw body."
      />
      <Button type="submit" reason={secret === "" ? "Enter the secret of the endpoint." : undefined}>
        Check the signature
      </Button>
      {isRight !== undefined && (
        <p class={isRight ? "good" : "problem"} role="status">
          {isRight ? "The signature is valid." : "The signature does not match this secret."}
        </p>
      )}
    </form>
  );
}
