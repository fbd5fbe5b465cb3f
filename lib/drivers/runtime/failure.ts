/** The end of a deployment that its source or its limits cause; the message is its reason. */
export class Failure extends Error {
  override readonly name = "Failure";
}

/** The source contains nothing that this runtime can run. Another runtime may accept it. */
export class Declined extends Failure {}

/** A build that needs a program which this machine lacks. */
export class Lacking extends Failure {}

/** The rollout of a release that does not become healthy. */
export class Unhealthy extends Failure {}
