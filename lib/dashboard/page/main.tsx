import "./style.css";
import "./pages.css";
import "./instruments.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadSession, session } from "./api.ts";
import { Layout } from "./layout.tsx";
import { keepConnected } from "./live.ts";
import { AcceptPage } from "./pages/accept.tsx";
import { DeploymentPage } from "./pages/deployment.tsx";
import { DeploymentsPage } from "./pages/deployments.tsx";
import { EnvironmentPage } from "./pages/environment.tsx";
import { GenerationPage, GenerationsPage } from "./pages/generations.tsx";
import { InstrumentPage, isInstrument } from "./pages/instrument-pages.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { ProjectPage } from "./pages/project.tsx";
import { ProjectsPage } from "./pages/projects.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { followLinks, href, place } from "./router.ts";
import { Loading, Page } from "./ui.tsx";

/** Decodes a part of the path; a malformed part stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function Outlet() {
  const [feature = "", id = "", part = ""] = place.value.path.slice(1).split("/").map(decoded);
  // The key contains the person, so that one person's data never appears for another.
  const key = `${session.value?.user_id} ${id} ${part}`;
  switch (feature) {
    case "":
      return <OverviewPage key={key} />;
    case "projects":
      if (part) return <EnvironmentPage key={key} project_id={id} name={part} />;
      return id ? <ProjectPage key={key} id={id} /> : <ProjectsPage key={key} />;
    case "deployments":
      return id ? <DeploymentPage key={key} id={id} /> : <DeploymentsPage key={key} />;
    case "generations":
      return id ? <GenerationPage key={key} id={id} /> : <GenerationsPage key={key} />;
    case "webhooks":
    case "integrations":
    case "events":
    case "requests":
    case "people":
    case "keys":
    case "audit-log":
    case "system":
    case "usage":
      return <InstrumentPage key={`${key} ${feature}`} feature={feature} id={id} part={part} />;
    default:
      if (isInstrument(feature)) return <InstrumentPage key={`${key} ${feature}`} feature={feature} />;
      return (
        <Page title="There is no such page">
          <p>
            Go to the <a href={href("/")}>overview</a>.
          </p>
        </Page>
      );
  }
}

const retry_ms = 1_000;

function App() {
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    // A page that opens while the service starts again would show the error for ever.
    const load = (): Promise<unknown> =>
      loadSession().catch((problem: { readonly status?: number }) => {
        setError(problem);
        if (!problem.status || problem.status >= 500) setTimeout(load, retry_ms);
      });
    void load();
  }, []);
  if (place.value.path === "/accept") return <AcceptPage />;
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
