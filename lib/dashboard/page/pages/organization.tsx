import { api, loadSession, session } from "../api.ts";
import { Field, FormDialog, Select } from "../controls.tsx";
import { useForm } from "../forms/form.tsx";
import { useCall } from "../live.ts";
import { refusal } from "../permissions.ts";
import { Loading, Text } from "../ui.tsx";

const plans = ["starter", "pro", "enterprise"] as const;

/** The name and the plan of the organization. */
export function OrganizationPart() {
  const { data, error } = useCall("organization.get", {}, "record");
  const stored = { name: data?.name ?? "", plan: data?.plan ?? "starter" };
  const { values, field, choice, reset } = useForm<Record<keyof typeof stored, string>>(stored);
  if (!data) return <Loading error={error} />;
  const isOwner = session.value?.role === "owner";
  return (
    <div class="section-head">
      <span>
        <Text of={data.name} />, plan {data.plan}
      </span>
      <FormDialog
        label="Edit organization"
        submit="Save"
        reason={refusal("users:write") ?? (isOwner ? undefined : "Only an owner may change the organization.")}
        onOpen={() => reset(stored)}
        run={async () => {
          const plan = plans.find((one) => one === values.plan) ?? data.plan;
          await api.organization.update({ name: values.name, plan });
          await loadSession();
        }}
      >
        <Field label="Name" {...field("name")} required />
        <Select label="Plan" {...choice("plan")} options={plans.map((one): [string, string] => [one, one])} />
      </FormDialog>
    </div>
  );
}
