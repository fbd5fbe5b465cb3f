const policy = [
  "default-src 'none'",
  ...["script", "style", "img", "media", "font", "connect"].map((kind) => `${kind}-src 'self'`),
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The headers of every page of the dashboard. */
export const always = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  // For browsers and scanners that ignore the content security policy.
  "x-frame-options": "DENY",
};
