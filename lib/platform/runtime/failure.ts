import type { Crash } from "../../drivers/deployment/contract.ts";

/** A deployment failed because of its source or its limits. The message is the reason. */
export class Failure extends Error {
  override readonly name = "Failure";
}

/** This runtime cannot run the source. Another runtime may accept it. */
export class Declined extends Failure {}

/** A build needs a program that this machine lacks. */
export class Lacking extends Failure {}

/** A release did not become healthy. With a crash if its app ended by itself. */
export class Unhealthy extends Failure {
  readonly crash: Crash | undefined;

  constructor(message: string, { crash, ...options }: ErrorOptions & { readonly crash: Crash | undefined }) {
    super(message, options);
    this.crash = crash;
  }
}
