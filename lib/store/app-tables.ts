/** The tables of environments and their apps, a part of `Tables`. */
export interface AppTables {
  environments: { project_id: string; name: string; variables: string; protect: string | null; root: string | null };
  apps: {
    project_id: string;
    environment: string;
    organization_id: string;
    slug: string;
    deployment_id: string | null;
    log_entries: number;
    runtime_id: string | null;
    data_bytes: number | null;
    workers: string | null;
    restarts: number;
    restarts_since: string | null;
    hour_restarts: number;
    hour_since: string | null;
    mailed_at: string | null;
  };
  previews: {
    integration_id: string;
    number: number;
    organization_id: string;
    project_id: string;
    environment: string;
    repo: string;
    url: string | null;
    source_repo: string;
    source_branch: string;
    commit_id: string;
    fork: number;
    status: "open" | "closed" | "ended";
    changed_at: string | null;
    updated_at: string;
  };
  schedules: {
    project_id: string;
    environment: string;
    name: string;
    organization_id: string;
    cron: string;
    command: string;
    timeout_s: number;
    next_at: string;
  };
  schedule_runs: {
    id: string;
    project_id: string;
    environment: string;
    organization_id: string;
    name: string;
    status: "running" | "succeeded" | "failed";
    started_at: string;
    ended_at: string | null;
    exit_code: number | null;
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
