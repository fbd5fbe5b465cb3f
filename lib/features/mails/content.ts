const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escaped = (text: string) => text.replace(/[&<>"']/g, (one) => escapes[one] ?? one);

const font = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const mono = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace";

/** A name without line breaks and changes of text direction, so that it cannot pass for text of the service. */
export const inOneLine = (name: string) => name.replace(/[\s\p{Cc}\p{Bidi_Control}]+/gu, " ").trim() || "(no name)";

export interface MailContent {
  readonly heading: string;
  readonly lines: readonly string[];
  /** A link and the words before it in the text part. In HTML it is a button with the full link below it. */
  readonly button?: { readonly before: string; readonly label: string; readonly link: string } | undefined;
  /** A command to copy and the words before it. */
  readonly command?: { readonly before: string; readonly text: string };
  readonly footer: string;
}

/** Styles for dark screens. Mail programs that ignore them use the light colours set on the elements. */
const style = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background: #101214 !important; }
  .card { background: #1a1d21 !important; border-color: #2d3238 !important; }
  .text, .head { color: #eceef0 !important; }
  .hint, .hint a { color: #a4abb3 !important; }
  .code { background: #101214 !important; color: #eceef0 !important; border-color: #2d3238 !important; }
  .button { background: #eceef0 !important; color: #101214 !important; }
}
@media (max-width: 480px) { .card { padding: 24px !important; } }`;

/** The HTML part: tables and inline styles, because mail programs support little else. It loads nothing. */
export function htmlOf({ heading, lines, button, command, footer }: MailContent): string {
  const hint = `margin:0 0 12px;font:14px/1.5 ${font};color:#5b636c`;
  const parts = [
    `<h1 class="head" style="margin:0 0 16px;font:600 22px/1.3 ${font};color:#16191d">${escaped(heading)}</h1>`,
    ...lines.map(
      (line) => `<p class="text" style="margin:0 0 16px;font:16px/1.5 ${font};color:#16191d">${escaped(line)}</p>`,
    ),
    ...(button
      ? [
          `<p style="margin:24px 0"><a class="button" href="${escaped(button.link)}" style="display:inline-block;padding:12px 24px;border-radius:8px;background:#16191d;color:#ffffff;font:600 16px/1.25 ${font};text-decoration:none">${escaped(button.label)}</a></p>`,
          `<p class="hint" style="${hint}">If the button does not work, open this link: <a href="${escaped(button.link)}" style="color:#5b636c;word-break:break-all">${escaped(button.link)}</a></p>`,
        ]
      : []),
    ...(command
      ? [
          `<p class="hint" style="${hint}">${escaped(command.before)}</p>`,
          `<pre class="code" style="margin:0 0 16px;padding:12px;border:1px solid #dfe3e7;border-radius:8px;background:#f4f5f7;color:#16191d;font:13px/1.5 ${mono};white-space:pre-wrap;word-break:break-all">${escaped(command.text)}</pre>`,
        ]
      : []),
    `<p class="hint" style="${hint};margin:0">${escaped(footer)}</p>`,
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escaped(heading)}</title>
<style>${style}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f4f5f7">
<table class="page" role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f4f5f7"><tr><td align="center" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px"><tr>
<td class="card" style="padding:40px;border:1px solid #dfe3e7;border-radius:12px;background:#ffffff;text-align:left">
${parts.join("\n")}
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

export const textOf = ({ lines, button, command, footer }: MailContent): string =>
  [
    ...lines,
    ...(button ? [`${button.before}: ${button.link}`] : []),
    ...(command ? [`${command.before} ${command.text}`] : []),
    footer,
  ].join("\n\n");
