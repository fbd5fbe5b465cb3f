import type { Answer } from "../http/answer.ts";
import { pageFiles } from "./page-files.ts";
import { always } from "./page-headers.ts";

interface Notice {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  /** The target and the text of its link. */
  readonly link: readonly [href: string, words: string];
  readonly headers?: Readonly<Record<string, string>>;
  readonly request_id: string;
}

const marks: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const asText = (text: string) => text.replaceAll(/[&<>"']/g, (mark) => marks[mark] ?? "");

/** A page without scripts, in the style of the dashboard, for errors on the way to it. */
export async function noticePage({ status, title, text, link, headers, request_id }: Notice): Promise<Answer> {
  const style = [...(await pageFiles()).keys()].find((name) => name.endsWith(".css"));
  const [href, words] = link.map(asText);
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${asText(title)} · svc-server</title>
<link rel="stylesheet" href="/dashboard/assets/${style}">
</head>
<body>
<div class="sign-in">
<main>
<header class="page-head"><h1>${asText(title)}</h1></header>
<p><bdi class="text">${asText(text)}</bdi></p>
<p><a href="${href}">${words}</a></p>
<p class="hint">Request ${asText(request_id)}</p>
</main>
</div>
</body>
</html>
`;
  return {
    status,
    headers: {
      ...always,
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      // The URL of this page may contain a code from the issuer.
      "referrer-policy": "no-referrer",
      ...headers,
    },
    body,
    request_id,
  };
}
