/** Explains that work is waiting for a manual clock, and how to move that clock. */
export const manualClockHint = (now: string) =>
  `the service's clock is manual and stands still at ${now}, so work goes on once somebody moves it: service.clock.advance("10s"), POST /_svc/clock/advance {"by":"10s"}, or svc-server clock advance 10s; service.settle() runs only what is due already`;
