import { yieldToEventLoop } from "../kernel/event-loop.ts";
import { type LongList, longBatchSize } from "../kernel/page.ts";
import { ReadableStream, TextEncoder } from "../kernel/web.ts";
import { takeAlso, takeTurn } from "./stream-turns.ts";

/** The JSON of a whole log, batch by batch in the turns of its organization. `end` is the text after the items. */
export function longListBody(
  { organization_id, batches }: LongList<unknown>,
  write: (item: unknown) => string,
  end: (count: number) => Promise<string>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let count = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await (takeTurn(organization_id, longBatchSize) ?? yieldToEventLoop());
        const { value, done } = await batches.next();
        const text = done ? await end(count) : `${count === 0 ? '{"data":[' : ","}${value.map(write).join()}`;
        if (value) count += value.length;
        takeAlso(organization_id, longBatchSize, text);
        controller.enqueue(encoder.encode(text));
        if (done) controller.close();
      },
      async cancel() {
        await batches.return();
      },
    },
    { highWaterMark: 0 },
  );
}
