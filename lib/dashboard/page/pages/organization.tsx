import { api, loadSession, session } from "../api.ts";
import { Field, Select } from "../controls.tsx";
import { Form } from "../forms/form.tsx";
import { useCall } from "../live.ts";
import { refusal } from "../permissions.ts";
import { Loading, Text } from "../ui.tsx";

const plans = ["starter", "pro", "enterprise"] as const;

/** The name and the plan of the organization. */
export function OrganizationPart() {
  const { data, error } = useCall("organization.get", {}, "record");
  if (!data) return <Loading error={error} />;
  const isOwner = session.value?.role === "owner";
  return (
    <div class="section-head">
      <span>
        <Text of={data.name} />, plan {data.plan}
      </span>
      <Form
        label="Edit organization"
        submit="Save"
        reason={refusal("users:write") ?? (isOwner ? undefined : "Only an owner may change the organization.")}
        start={{ name: data.name, plan: data.plan as string }}
        run={async ({ name, plan: wanted }) => {
          const plan = plans.find((one) => one === wanted) ?? data.plan;
          await api.organization.update({ name, plan });
          await loadSession();
        }}
      >
        <Field label="Name" required />
        <Select label="Plan" options={plans.map((one): [string, string] => [one, one])} />
      </Form>
    </div>
  );
}
