import type { Generation } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { Action } from "../controls.tsx";
import { dollars, instantOf } from "../format-time.ts";
import { NewGeneration } from "../forms/generation-form.tsx";
import { useCall, usePoll } from "../live.ts";
import { sourceOf } from "../media.ts";
import { Block, Facts, textsOf } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { href, place } from "../router.ts";
import { Step } from "../step.tsx";
import { Empty, Link, Loading, loadingPage, Page, Section, Status, Text, Time } from "../ui.tsx";
import { Pages } from "./projects.tsx";

const createdAt = ({ created_at }: Generation) => new Date(created_at * 1000).toISOString();
export const promptOf = ({ input }: Generation) => (typeof input["prompt"] === "string" ? input["prompt"] : "");
const hasEnded = ({ status }: Generation) => status !== "queued" && status !== "in_progress";

/** Reads again every second while a generation runs, because not every change of its progress is published. */
function useProgress(of: readonly Generation[] | undefined): void {
  const isRunning = of?.some(({ status }) => status === "in_progress") ?? false;
  usePoll("generation", isRunning ? 1000 : undefined);
}

export function GenerationsPage() {
  const cursor = place.value.query.get("cursor") ?? "";
  const { data, error } = useCall("generations.list", { per_page: 24, ...(cursor && { cursor }) }, "generation");
  useProgress(data?.data);
  const actions = (
    <>
      <a href={href("/usage")}>Cost by day and model</a>
      <NewGeneration />
    </>
  );
  return (
    <Page title="Generations" actions={actions}>
      {!data && <Loading error={error} />}
      {data?.data.length === 0 && (
        <Empty>Nothing has been generated yet. A generation is a picture or a film, made by a model.</Empty>
      )}
      <ul class="gallery">
        {data?.data.map((one) => (
          <li key={one.id} class="picture">
            <Media of={one} />
            <div class="caption">
              <Link to={`/generations/${one.id}`} of={promptOf(one).slice(0, 300) || one.id} />
              <span class="row spread">
                <Status of={one.status} />
                <Time at={createdAt(one)} />
              </span>
            </div>
          </li>
        ))}
      </ul>
      <Pages next={data?.meta.next_cursor ?? null} />
    </Page>
  );
}

/** The picture or the video; until there is one, the state. */
function Media({ of }: { of: Generation }) {
  const source = sourceOf(of);
  const text = promptOf(of).slice(0, 300) || of.model;
  if (source === undefined || !of.output) {
    return (
      <div class="media none">
        <Status of={of.status} />
        {of.progress !== undefined && (
          <span class="done">
            <progress value={of.progress} aria-label="Progress" />
            {`${Math.round(of.progress * 100)} %`}
          </span>
        )}
        {of.error && <Text of={of.error.message.slice(0, 200)} />}
        {hasEnded(of) && !of.error && <span class="hint">The file is no longer stored.</span>}
      </div>
    );
  }
  if (of.output.type === "image") return <img class="media" src={source} alt={text} loading="lazy" decoding="async" />;
  return <video class="media" src={source} aria-label={text} controls loop muted playsInline preload="metadata" />;
}

export function GenerationPage({ id }: { id: string }) {
  const { data, error } = useCall("generations.get", { id }, "generation");
  useProgress(data && [data]);
  if (!data) return loadingPage("Generation", error);
  const source = sourceOf(data);
  const actions = (
    <>
      {source !== undefined && (
        <a href={source} download>
          Download
        </a>
      )}
      {!hasEnded(data) && (
        <>
          <Step family="generations" of={data} />
          <Action reason={refusal("generations:write")} run={() => api.generations.cancel({ id })}>
            Cancel generation
          </Action>
        </>
      )}
      <NewGeneration key={id} input={data.input} />
    </>
  );
  const { prompt: _, ...others } = data.input;
  return (
    <Page title={promptOf(data).slice(0, 120) || data.model} actions={actions}>
      <p class="facts">
        <Status of={data.status} />
        <span class="mono">{data.id}</span>
        <Text of={data.model} />
        <span>{dollars(data.usage.cost_usd)}</span>
        <span>{instantOf(createdAt(data))} UTC</span>
      </p>
      {data.error && (
        <p class="problem">
          <Text of={data.error.message} /> (<code>{data.error.code}</code>)
        </p>
      )}
      <div class="halves large">
        <Media of={data} />
        <div class="stack">
          <Section title="Prompt">
            <Block label="Text of the prompt" of={promptOf(data)} />
          </Section>
          {Object.keys(others).length > 0 && (
            <Section title="Inputs">
              <Facts of={textsOf(others)} />
            </Section>
          )}
        </div>
      </div>
    </Page>
  );
}
