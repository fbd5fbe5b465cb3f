import "./style.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadSession, session } from "./api.ts";
import { DeploymentPage } from "./deployment.tsx";
import { DeploymentsPage } from "./deployments.tsx";
import { KeysPage } from "./keys.tsx";
import { Layout } from "./layout.tsx";
import { keepConnected } from "./live.ts";
import { OverviewPage } from "./overview.tsx";
import { PeoplePage } from "./people.tsx";
import { ProjectPage } from "./project.tsx";
import { ProjectsPage } from "./projects.tsx";
import { followLinks, href, place } from "./router.ts";
import { SignInPage } from "./sign-in.tsx";
import { Loading, Page } from "./ui.tsx";
import { WebhookPage, WebhooksPage } from "./webhooks.tsx";

function Outlet() {
  const [, feature = "", id = ""] = place.value.path.split("/");
  const chosen = decodeURIComponent(id);
  // A key of the person: what one may see is never shown for a moment to another.
  const key = `${session.value?.user_id} ${chosen}`;
  switch (feature) {
    case "":
      return <OverviewPage key={key} />;
    case "projects":
      return chosen ? <ProjectPage key={key} id={chosen} /> : <ProjectsPage key={key} />;
    case "deployments":
      return chosen ? <DeploymentPage key={key} id={chosen} /> : <DeploymentsPage key={key} />;
    case "webhooks":
      return chosen ? <WebhookPage key={key} id={chosen} /> : <WebhooksPage key={key} />;
    case "people":
      return <PeoplePage key={key} />;
    case "keys":
      return <KeysPage key={key} />;
    default:
      return (
        <Page title="There is no such page">
          <p>
            Go to the <a href={href("/")}>overview</a>.
          </p>
        </Page>
      );
  }
}

function App() {
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    loadSession().catch(setError);
  }, []);
  if (session.value === null) return <SignInPage />;
  if (session.value === undefined) return <Loading error={error} />;
  return (
    <Layout>
      <Outlet />
    </Layout>
  );
}

followLinks();
keepConnected();
const root = document.getElementById("page");
if (root) render(<App />, root);
