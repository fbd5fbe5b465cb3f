import { type AllowList, isClosed, isNear } from "./address-policy.ts";
import { failed, type HttpResult } from "./http-request.ts";
import type { HostPort } from "./target.ts";

/** Chooses which addresses of a target to try, or returns a result without a request. */
export type AddressChoice = (addresses: readonly string[]) => readonly string[] | HttpResult;

/** The result of a delivery that was not sent because its address is public. */
export const outside = failed("outside");

export const allIf =
  (isOpen: (address: string) => boolean): AddressChoice =>
  (addresses) =>
    addresses.every(isOpen) ? addresses : failed("address_not_allowed");

/** The addresses on this machine, in private networks and in `allowed`. Without any, the target counts as outside. */
export const onlyNear =
  (allowed: AllowList, target: HostPort): AddressChoice =>
  (addresses) => {
    if (addresses.some(isClosed)) return failed("address_not_allowed");
    const near = addresses.filter((address) => isNear(allowed, address, target));
    return near.length > 0 ? near : outside;
  };
