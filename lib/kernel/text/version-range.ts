import satisfies from "semver/functions/satisfies.js";
import valid from "semver/functions/valid.js";
import validRange from "semver/ranges/valid.js";

/**
 * Whether a version satisfies an npm range such as `^20.10 || >=22`; undefined if one of them is invalid. A prerelease
 * such as `22.0.0-nightly` also counts as its release.
 */
export function isInRange(version: string, range: string): boolean | undefined {
  const isValid = range.length <= 255 && valid(version) !== null && validRange(range) !== null;
  return isValid
    ? [version, version.replace(/[-+].*/s, "")].some((one) => satisfies(one, range, { includePrerelease: true }))
    : undefined;
}
