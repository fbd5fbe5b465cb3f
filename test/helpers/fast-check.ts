import fc from "fast-check";

// A check before landing draws the same cases each time, so that a failure is the change's own. Other runs draw new ones.
if (process.env["CI"]) fc.configureGlobal({ seed: 20261122 });

export { default } from "fast-check";
