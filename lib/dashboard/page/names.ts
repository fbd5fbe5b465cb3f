import { api } from "./api.ts";
import { useRead } from "./live.ts";

/** The names of people and keys. Suspended people have keys too; an ended key keeps its identifier. */
export function useNames() {
  const { data } = useRead(
    "names",
    async (signal) => {
      const lists = await Promise.all([
        api.users.list({}, { signal }),
        api.users.list({ status: "suspended" }, { signal }),
        api.keys.list({}, { signal }),
      ]);
      const [users, suspended, keys] = lists.map(({ data }) => data.map(({ id, name }) => [id, name] as const));
      return { people: new Map([...(users ?? []), ...(suspended ?? [])]), keys: new Map(keys) };
    },
    ({ kind }) => kind === "rights" || kind === "record",
  );
  return {
    people: data?.people ?? new Map<string, string>(),
    keys: data?.keys ?? new Map<string, string>(),
    person: (id: string | null | undefined): string => (id && data ? (data.people.get(id) ?? id) : ""),
    key: (id: string | null | undefined): string => (id && data ? (data.keys.get(id) ?? id) : ""),
  };
}
