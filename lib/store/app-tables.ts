/** The rows of what runs: part of the tables. */
export interface AppTables {
  apps: {
    project_id: string;
    environment: string;
    organization_id: string;
    slug: string;
    deployment_id: string | null;
    log_entries: number;
    runtime_id: string | null;
  };
  runtimes: {
    id: string;
    names: string;
    host: string;
    apps_url: string;
    lease_since: string;
    lease_until: string;
  };
  app_domains: {
    name: string;
    project_id: string;
    environment: string;
    organization_id: string;
    status: "active" | "pending";
    reason: string | null;
  };
  given_up_hosts: { name: string; organization_id: string; until: string };
  app_logs: {
    project_id: string;
    environment: string;
    seq: number;
    organization_id: string;
    timestamp: string;
    level: "info" | "warn" | "error";
    message: string;
  };
}
