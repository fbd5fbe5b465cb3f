const policy = [
  "default-src 'none'",
  ...["script", "style", "img", "media", "font", "connect"].map((kind) => `${kind}-src 'self'`),
  "frame-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The headers of a mail in a frame of the page: the mail runs no scripts and loads nothing. */
export const ofMail = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "img-src data:",
    "frame-ancestors 'self'",
    "sandbox allow-popups allow-popups-to-escape-sandbox",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export const always = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  // For browsers and scanners that ignore the content security policy.
  "x-frame-options": "DENY",
};
