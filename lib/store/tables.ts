import type { Way } from "../kernel/maker.ts";
import type { JsonText } from "../kernel/result-text.ts";
import type { Role } from "../kernel/roles.ts";
import type { AppTables } from "./app-tables.ts";

/** `kept`: no mail server is configured. `pending`: not sent yet, or between tries. */
export type MailStatus = "kept" | "pending" | "sent" | "failed";

/** The rows of `schema/*.sql`; a test compares the two. Columns have the same names as in the API. */
export interface Tables extends AppTables {
  settings: { name: string; value: string };
  organizations: {
    id: string;
    name: string;
    name_folded: string;
    plan: "starter" | "pro" | "enterprise";
    created_at: string;
  };
  users: {
    id: string;
    organization_id: string;
    name: string;
    email: string;
    email_folded: string;
    role: Role;
    status: "active" | "suspended";
    joined_at: string;
  };
  api_keys: {
    id: string;
    organization_id: string;
    user_id: string;
    name: string;
    hash: string;
    scopes: string;
    rate_limit: number | null;
    expires_at: string | null;
    last_used_at: string | null;
    created_at: string;
    created_by_key_id: string | null;
    maker_key_id: string | null;
    shared_windows: string | null;
  };
  sessions: {
    hash: string;
    organization_id: string;
    user_id: string;
    api_key_id: string | null;
    created_at: string;
    expires_at: string;
  };
  used_sign_ins: { hash: string; expires_at: string };
  invitations: {
    id: string;
    organization_id: string;
    email: string;
    email_folded: string;
    role: Role;
    token_hash: string;
    invited_at: string;
    expires_at: string;
    invited_by: string | null;
    invited_by_key_id: string | null;
    scopes: string;
    mail_id: string | null;
    mail_status: MailStatus;
    mail_error: string | null;
  };
  projects: {
    id: string;
    organization_id: string;
    name: string;
    name_folded: string;
    region: string;
    description: string | null;
    status: "active" | "archived";
    created_at: string;
    updated_at: string;
  };
  removals: { project_id: string };
  turns: { queue: string; organization_id: string };
  deployments: {
    id: string;
    organization_id: string;
    project_id: string;
    environment: string;
    status: "queued" | "building" | "deploying" | "active" | "failed" | "cancelled" | "rolled_back";
    source: JsonText;
    version: string | null;
    restores: string | null;
    ready_at: string;
    created_at: string;
    updated_at: string;
    step_at: string;
    completed_at: string | null;
    deployed_at: string | null;
    log_entries: number;
    log_bytes: number;
    revision: string | null;
    repo: string | null;
    script: string | null;
    lined_up: number;
    pin: string | null;
    release: string | null;
    runtime: string | null;
    root: string | null;
    created_by: JsonText | null;
  };
  scenarios: {
    id: string;
    match: string;
    next: "deployment" | "generation" | null;
    outcome: string;
    times: number | null;
    used: number;
  };
  pushes: { id: string; received_at: string };
  deployment_logs: {
    deployment_id: string;
    seq: number;
    organization_id: string;
    timestamp: string;
    level: "info" | "warn" | "error";
    message: string;
  };
  events: { id: string; organization_id: string; event: string; timestamp: string; data: string };
  jobs: {
    id: string;
    kind: string;
    args: string;
    state: "waiting" | "running";
    run_at: string;
    attempt: number;
    failures: number;
    crashes: number;
    lease_owner: string | null;
    lease_until: string | null;
    strikes: number;
  };
  audit_log: {
    id: string;
    organization_id: string;
    at: string;
    action: string;
    target: string | null;
    user_id: string | null;
    key_id: string | null;
    via: Way;
    address: string | null;
    request_id: string | null;
  };
  mails: {
    id: string;
    organization_id: string;
    recipient: string;
    subject: string;
    sealed: string;
    sent_at: string;
    status: MailStatus;
    message_id: string | null;
    attempts: string;
    invitation_id: string | null;
  };
  endpoints: {
    id: string;
    organization_id: string;
    family: "webhook" | "integration" | "removed";
    type: "webhook" | "code_host" | "chat" | "monitoring" | "custom" | "removed";
    name: string;
    status: "active" | "inactive";
    events: string;
    config: string;
    sealed: string;
    succeeded_at: string | null;
    created_at: string;
    epoch: number;
  };
  deliveries: {
    id: string;
    organization_id: string;
    endpoint_id: string;
    event_id: string;
    event: string;
    target: string;
    body: string;
    status: "pending" | "succeeded" | "abandoned" | "skipped";
    created_at: string;
    next_attempt_at: string | null;
    tries: number;
    rung: number;
    epoch: number;
  };
  delivery_attempts: {
    delivery_id: string;
    number: number;
    organization_id: string;
    at: string;
    status: number | null;
    duration_ms: number;
    error: string | null;
    response: string | null;
  };
  generations: {
    id: string;
    organization_id: string;
    model: string;
    kind: "image" | "video";
    status: "queued" | "in_progress" | "completed" | "failed";
    input: string;
    ready_at: string;
    step_at: string;
    created_at: string;
    completed_at: string | null;
    handle: string | null;
    cost_micros: number;
    content_type: string | null;
    bytes: number | null;
    etag: string | null;
    error_code: string | null;
    error_message: string | null;
    script: string | null;
    progress: number | null;
  };
  generation_usage: {
    organization_id: string;
    date: string;
    model: string;
    generations: number;
    cost_micros: number;
  };
  rate_windows: { bucket: string; started_at: number; requests: number };
  idempotency_keys: {
    api_key_id: string;
    path: string;
    name: string;
    body_hash: string;
    status: number;
    headers: string;
    sealed: string;
    created_at: string;
  };
  asset_parts: { name: string; part: number; bytes: number; content: string };
}

export type Row<T extends keyof Tables> = Tables[T];
