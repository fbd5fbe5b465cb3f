import type { Settings } from "../config/parse-options.ts";
import { backendDriver } from "../drivers/generation/backend-driver.ts";
import { simulatedGenerations } from "../drivers/generation/simulated.ts";
import type { Mailer } from "../drivers/mail/contract.ts";
import { defaultSender } from "../drivers/mail/sender.ts";
import type { Outbound } from "../drivers/outbound/outbound.ts";
import { createRequestSlots } from "../drivers/outbound/request-slots.ts";
import { createPainter } from "../drivers/painter/painter.ts";
import { auditService } from "../features/audit/service.ts";
import { createAttempts } from "../features/deliveries/attempts.ts";
import { createDeliveryApi } from "../features/deliveries/delivery-api.ts";
import { deliveriesJobs } from "../features/deliveries/jobs.ts";
import { createOutbox } from "../features/deliveries/outbox.ts";
import { createEndpoints } from "../features/deliveries/service.ts";
import { signedJson } from "../features/deliveries/signed-json.ts";
import { deploymentsJobs } from "../features/deployments/jobs.ts";
import { environmentsJobs } from "../features/environments/jobs.ts";
import type { LiveApps } from "../features/environments/live-apps.ts";
import { createBus } from "../features/events/bus.ts";
import { createChangeFeed } from "../features/events/change-feed.ts";
import { eventsService } from "../features/events/service.ts";
import { createWaiting } from "../features/events/wait-for-change.ts";
import { createAssetLinks } from "../features/generations/asset-links.ts";
import { createExecution } from "../features/generations/execution.ts";
import { generationsJobs } from "../features/generations/jobs.ts";
import { createModelDrivers } from "../features/generations/model-drivers.ts";
import { backendModel } from "../features/generations/models.ts";
import { generationsService } from "../features/generations/service.ts";
import { integrationTypes } from "../features/integrations/integration-types.ts";
import { previewsJobs } from "../features/integrations/jobs.ts";
import { pushesService } from "../features/integrations/pushes.ts";
import { integrationsService } from "../features/integrations/service.ts";
import { type InvitationsService, invitationsService } from "../features/invitations/service.ts";
import { createKeyWatch } from "../features/keys/revocation-watch.ts";
import { keysService } from "../features/keys/service.ts";
import { createSessions } from "../features/keys/sessions.ts";
import { createCrashMails } from "../features/mails/crash-mail.ts";
import { mailsJobs } from "../features/mails/jobs.ts";
import { mailsService } from "../features/mails/service.ts";
import { codeHostRights } from "../features/organizations/code-host-rights.ts";
import type { Plan } from "../features/organizations/schema.ts";
import { organizationsService } from "../features/organizations/service.ts";
import { projectsJobs } from "../features/projects/jobs.ts";
import { projectNames } from "../features/projects/service.ts";
import { repositoriesService } from "../features/repositories/service.ts";
import { type ScenariosService, scenariosService } from "../features/scenarios/service.ts";
import { usersService } from "../features/users/service.ts";
import { webhooksService } from "../features/webhooks/service.ts";
import { createQueue } from "../jobs/queue.ts";
import { descriptorShares } from "../kernel/node/descriptors.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { createDeploying, type FeatureCore } from "./deployment-features.ts";
import type { Foundation } from "./open-store.ts";
import { openapiService } from "./openapi/service.ts";
import type { RuntimePorts } from "./runtimes.ts";
import { tracedQueue } from "./tracing.ts";

/** The services of a process share its descriptors. */
const withRequestSlot = createRequestSlots(descriptorShares().requests);

export const featureJobs = [
  ...projectsJobs,
  ...deploymentsJobs,
  ...environmentsJobs,
  ...deliveriesJobs,
  ...generationsJobs,
  ...mailsJobs,
  ...previewsJobs,
];

export type Features = ReturnType<typeof createFeatures>;

const formats = {
  webhook: signedJson,
  ...Object.fromEntries(Object.entries(integrationTypes).map(([type, { format }]) => [type, format])),
};

interface FeaturePorts extends RuntimePorts {
  readonly wake: (at: number) => void;
  /** Called when there are key uses for `keys.flush` to write. */
  readonly dirty: () => void;
  readonly origin: () => string;
  readonly outbound: Outbound;
  /** Whether this is a muted fork, which sends nothing. */
  readonly isMuted?: boolean;
  /** Undefined without a mail server. */
  readonly mailer?: Mailer | undefined;
}

/** Makes every feature and passes each its ports. This is the only file that knows all features. */
export function createFeatures(
  foundation: Foundation,
  settings: Settings,
  { wake, dirty, origin, outbound, mailer, ...runtimes }: FeaturePorts,
) {
  const { tracer, store } = foundation;
  const { driver, repositories } = runtimes;
  const feed = createChangeFeed(foundation);
  const waiting = createWaiting({ ...foundation, feed });
  const bus = createBus({ ...foundation, feed });
  const plainQueue = createQueue({ ...foundation, wake, wakeOthers: (tx) => feed.wake(tx, "jobs") });
  const queue = tracedQueue(plainQueue, tracer);
  const ports = { ...foundation, feed, waiting, bus, queue, projectName: projectNames(store), origin, outbound };
  if (tracer) bus.subscribe(async (_, { id }) => tracer.remember(id));
  feed.onWake("jobs", () => wake(ports.clock.now()));
  const endpoints = createEndpoints(ports);
  const attempts = createAttempts({ ...ports, ...settings.deliveries, endpoints, formats, withRequestSlot });
  const retention_ms = settings.deliveries.retention;
  const outbox = createOutbox({ ...ports, endpoints, formats, attempts, retention_ms });
  const organizationName = async (tx: Tx, id: string) => (await organizations.get({ organization_id: id }, tx)).name;
  const people = createPeople({ ...ports, dirty, mailer, organizationName }, settings);
  const { keys, users, mailCrash } = people;
  const scenarios = scenariosService({ ...ports, takesDeployments: driver.takesScenarios === true });
  const devScenarios = settings.mode === "dev" ? scenarios : undefined;
  const rights = codeHostRights({ ...ports, codeHost: settings.codeHost });
  const { isOnly } = rights;
  const more = { endpoints, mailCrash, rights, isOnly, scenarios: devScenarios };
  const deploying = createDeploying({ ...ports, ...runtimes, ...more }, settings);
  const { projects, deployments, previews } = deploying;
  const elsewhere = () => gitElsewhere(deploying.apps);
  // These two call each other, but only within a transaction, after both are made.
  const onPlanChange = (tx: Tx, organization_id: string, plan: Plan) => integrations.planned(tx, organization_id, plan);
  const organizations = organizationsService({ ...ports, users, keys, onPlanChange });
  const { planOf } = organizations;
  const onlyOrganization = async () => (await organizations.chosen())?.id;
  const audit = auditService({ ...ports, retention_ms: settings.audit.retention, onlyOrganization });
  const rules = { trusted: settings.trustNetwork };
  const integrations = integrationsService({ ...ports, endpoints, projects, planOf, rules, previews });
  return {
    ...createGenerations({ ...ports, scenarios: devScenarios }, settings.generations),
    bus,
    feed,
    ...people,
    ...deploying,
    endpoints,
    outbox,
    deliveries: createDeliveryApi({ ...ports, endpoints, outbox, attempts }),
    webhooks: webhooksService({ ...ports, endpoints }),
    integrations,
    scenarios,
    organizations,
    audit,
    elsewhere,
    repositories: repositoriesService({ ...ports, repositories, elsewhere }),
    pushes: pushesService({ ...ports, endpoints, deployments, rights, previews }),
    events: eventsService(ports),
    openapi: openapiService(settings),
  };
}

/** Names the servers with a runtime: among servers that share a database, those hold the repositories. */
function gitElsewhere({ runtimes }: LiveApps): string | undefined {
  const hosts = runtimes();
  if (hosts.length === 0) return undefined;
  const names = hosts.map(({ host, apps_url }) => `${host} (its apps: ${apps_url})`).join(", ");
  return `git repositories are on the server with the runtime: ${names}`;
}

function createPeople(
  ports: FeatureCore & {
    readonly dirty: () => void;
    readonly mailer: Mailer | undefined;
    readonly organizationName: (tx: Tx, organization_id: string) => Promise<string>;
  },
  { rateLimit, dashboard, mail }: Settings,
) {
  const keys = keysService({
    ...ports,
    rateLimit,
    onEnded: (tx, organization_id, key_ids) => invitations.voidSentWith(tx, organization_id, key_ids),
  });
  const watchKey = createKeyWatch({ ...ports, identify: keys.identify });
  const sessions = createSessions({ ...ports, keys });
  const watchSession = createKeyWatch({ ...ports, identify: sessions.identify });
  const hasDashboard = dashboard !== false;
  const from = () => mail.from ?? defaultSender(ports.origin());
  const mails = mailsService({ ...ports, from, onResult: (...result) => invitations.mailed(...result) });
  const users = usersService({ ...ports, keys, onLeave: (...left) => invitations.voidOf(...left) });
  const invitations: InvitationsService = invitationsService({ ...ports, users, keys, mails, hasDashboard });
  const mailCrash = createCrashMails({ ...ports, users, mails, hasDashboard });
  return { keys, watchKey, sessions, watchSession, mails, users, invitations, mailCrash };
}

function createGenerations(
  ports: FeatureCore & { readonly scenarios: ScenariosService | undefined },
  settings: Settings["generations"],
) {
  const { driver, media, models, retention } = settings;
  const backends = Object.values(settings.backends).flatMap((backend) => {
    const driver = backendDriver({ ...backend, timeout_ms: backend.timeout }, ports.outbound);
    return Object.entries(backend.models).map(([id, one]) => {
      const { price, pricePerSecond = 0 }: { price: number; pricePerSecond?: number | undefined } = one;
      const isPaid = price > 0 || pricePerSecond > 0 || backend.type === "openrouter";
      const ordersOnce = isPaid && backend.type !== "command" && !backend.idempotent;
      return { model: backendModel(id, one), driver, ordersOnce };
    });
  });
  const links = createAssetLinks(ports);
  const modelDrivers = createModelDrivers({
    driver,
    makeDefault: () => simulatedGenerations(undefined, createPainter({ media }), () => ports.clock.mode === "manual"),
    backends,
    unknownModels: models,
  });
  const execution = createExecution({ ...ports, ...settings, driverOf: modelDrivers.of });
  const generations = generationsService({ ...ports, links, modelDrivers, execution, retention_ms: retention });
  return { links, modelDrivers, generations, execution };
}
