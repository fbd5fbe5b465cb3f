import { useState } from "preact/hooks";
import { session } from "../api.ts";
import { Button } from "../controls.tsx";
import { Modal } from "../modal.tsx";
import { Block, Copy } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { origin } from "../router.ts";

/** Project names that can be part of a repository URL. */
const plain = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;

/** The commands that deploy a folder to a project: with `svc-server deploy`, and with git. */
export function commandsFor({ id, name }: { readonly id: string; readonly name: string }, origin: string) {
  const project = plain.test(name) && !/\.(lock)?$/.test(name) ? name : id;
  const key = "export SVC_API_KEY='sk_live_…'";
  const url = new URL(`/git/me/${project}.git`, origin);
  const address = `${url.protocol}//me:$SVC_API_KEY@${url.host}${url.pathname}`;
  return {
    deploy: `${key}\nnpx svc-server deploy . \\\n  --url ${origin} \\\n  --project ${project}`,
    push: `${key}\ngit push -o project=${project} \\\n"${address}" \\\nHEAD:main`,
  };
}

/** A button that shows how to deploy a folder from a shell. */
export function DeployFolder({ of }: { of: { id: string; name: string } }) {
  const [isOpen, setOpen] = useState(false);
  const simulated = session.value?.hosts_repositories
    ? undefined
    : "Deployments are simulated here, or run on another server, so no folder can be pushed. Start with --runtime process.";
  const { deploy, push } = commandsFor(of, origin);
  const close = () => setOpen(false);
  return (
    <>
      <Button reason={refusal("deployments:write") ?? simulated} onClick={() => setOpen(true)}>
        Deploy a folder
      </Button>
      {isOpen && (
        <Modal label="Deploy a folder" close={close}>
          <div class="stack">
            <h2>Deploy a folder</h2>
            <p class="hint">
              Run this in the folder, with an API key in place of sk_live_…; it needs the scope deployments:write.
            </p>
            <Command title="Any folder" text={deploy} />
            <Command title="A git repository" text={push} />
            <div class="row end">
              <Button kind="main" onClick={close}>
                Close
              </Button>
            </div>
          </div>
        </Modal>
      )}
    </>
  );
}

const Command = ({ title, text }: { title: string; text: string }) => (
  <div class="field">
    <div class="section-head">
      <h3>{title}</h3>
      <Copy text={text} />
    </div>
    <Block of={text} label={title} />
  </div>
);
