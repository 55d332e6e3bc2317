import { randomBytes } from 'node:crypto'
import { type Answer, answer } from '../../../platform/service.ts'
import { type Language, signInMessages } from './sign-in-messages.ts'

export type SignInForm = {
  /** The display name of the program to which the user signs in. */
  to: string
  action: string
  proof: string
  /** The name that the user typed before. The password is never filled in again. */
  name?: string | undefined
  error?: string | undefined
  /**
   * The address to which the form may redirect. The content security policy needs it, because browsers apply `form-action`
   * to redirects too.
   */
  returnsTo: string
  /** HTML below the form: other ways to sign in. */
  alternatives: string
}

export type PageOptions = { status: number; language: Language; headers?: Record<string, string | string[]> }

export function signInPage(form: SignInForm, options: PageOptions): Answer<string> {
  const { name = '', error } = form
  const messages = signInMessages[options.language]
  const invalid = error === undefined ? '' : ' aria-invalid="true"'
  const explained = error === undefined ? '' : ' error'
  const content = `
    <h1>${messages.signIn}</h1>
    <p class="lead">${escaped(messages.to(form.to))}</p>
    ${error === undefined ? '' : `<p class="error" id="error" role="alert">${escaped(error)}</p>`}
    <form method="post" action="${escaped(form.action)}">
      <input type="hidden" name="proof" value="${escaped(form.proof)}">
      <label for="name">${messages.name}</label>
      <input id="name" name="name" type="text" autocomplete="username" autocapitalize="none" spellcheck="false"
        required maxlength="128" aria-describedby="hint${explained}"${invalid} value="${escaped(name)}"${name === '' ? ' autofocus' : ''}>
      <p class="hint" id="hint">${messages.nameHint}</p>
      <label for="password">${messages.password}</label>
      <input id="password" name="password" type="password" autocomplete="current-password" required
        maxlength="256"${error === undefined ? '' : ' aria-describedby="error"'}${invalid}${name === '' ? '' : ' autofocus'}>
      <button type="submit">${messages.signIn}</button>
    </form>${form.alternatives}`
  const title = error === undefined ? messages.signIn : messages.error
  return page({ title, content, formAction: `'self' ${originForPolicy(form.returnsTo)}` }, options)
}

/**
 * Returns the error page for an invalid request. The detail is in English, because it is for the developer of the
 * client that sent the request.
 */
export function errorPage(detail: string, options: PageOptions): Answer<string> {
  const messages = signInMessages[options.language]
  const content = `
    <h1>${messages.cannotContinue}</h1>
    <p class="error" role="alert" lang="en">${escaped(detail)}</p>
    <p class="lead">${messages.startAgain}</p>`
  return page({ title: messages.cannotContinueTitle, content, formAction: `'none'` }, options)
}

/**
 * Returns the origin of a URL for the content security policy. The policy cannot contain an IPv6 address, so for such an
 * address only the scheme is returned.
 */
export function originForPolicy(url: string): string {
  const { origin, hostname, protocol } = new URL(url)
  return hostname.startsWith('[') ? protocol : origin
}

type Content = { title: string; content: string; formAction: string; script?: string }

export function page(
  { title, content, formAction, script }: Content,
  { status, language, headers = {} }: PageOptions,
): Answer<string> {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    `default-src 'none'`,
    `style-src 'nonce-${nonce}'`,
    ...(script === undefined ? [] : [`script-src 'nonce-${nonce}'`]),
    `form-action ${formAction}`,
    `frame-ancestors 'none'`,
    `base-uri 'none'`,
  ]
  const html = `<!doctype html>
<html lang="${language}">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${escaped(title)} · Millwright</title>
  <style nonce="${nonce}">${style}</style>
</head>
<body>
  <main>
    <p class="brand">${mark}<span>Millwright</span></p>${content}
  </main>${script === undefined ? '' : `\n  <script nonce="${nonce}">${script}</script>`}
</body>
</html>
`
  return answer(status, html, {
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    // With this policy, browsers send an `Origin` header with the form. Without the header, the server cannot distinguish
    // this form from a form of another site.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...headers,
  })
}

export function escaped(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** The logo: a gear with eight teeth. */
const mark = `<svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true" fill="currentColor"><path d="M10.8 1h2.4l.5 2.9 1.9.8 2.4-1.7 1.7 1.7L18 7.1l.8 1.9 2.9.5v2.4l-2.9.5-.8 1.9 1.7 2.4-1.7 1.7-2.4-1.7-1.9.8-.5 2.9h-2.4l-.5-2.9-1.9-.8L6 18.4l-1.7-1.7L6 14.3l-.8-1.9-2.9-.5V9.5L5.2 9 6 7.1 4.3 4.7 6 3l2.4 1.7 1.9-.8zM12 7.2a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z"/></svg>`

const style = `
:root { color-scheme: light dark; --paper: #eff0f1; --card: #fff; --ink: #1a2229; --quiet: #5b646b; --line: #7d868c;
  --accent: #006e93; --accent-ink: #fff; --alert: #b81e3f; --alert-paper: #fdecee; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #283236; --card: #0f1619; --ink: #e6eef1; --quiet: #a9b8bf; --line: #7f9098;
    --accent: #00bde3; --accent-ink: #000; --alert: #ff9db2; --alert-paper: #43161d; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { width: 100%; max-width: 25rem; padding: 2.25rem 2rem; background: var(--card); border-radius: .5rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / .12), 0 12px 32px rgb(0 0 0 / .1); }
.brand { display: flex; align-items: center; gap: .6rem; margin: 0 0 1.75rem; font-weight: 600; }
.brand svg { color: #2bb3a8; }
h1, h2 { margin: 0; font-size: 1.6rem; line-height: 1.2; font-weight: 600; overflow-wrap: anywhere; }
h2 { margin-top: 1.75rem; font-size: 1.1rem; }
.lead { margin: .35rem 0 1.5rem; color: var(--quiet); }
.error + .lead { margin-top: 1.25rem; }
label { display: block; margin: 1.1rem 0 .35rem; font-weight: 600; }
input { width: 100%; padding: .55rem .7rem; border: 1px solid var(--line); border-radius: 2px; background: transparent;
  color: inherit; font: inherit; }
input[aria-invalid="true"] { border-color: var(--alert); }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid #199fff; outline-offset: 2px; }
.hint { margin: .3rem 0 0; font-size: .875rem; color: var(--quiet); }
button, .button { display: block; width: 100%; margin-top: 1.75rem; padding: .65rem; border: 0; border-radius: 2px; background: var(--accent);
  color: var(--accent-ink); font: inherit; font-weight: 600; cursor: pointer; text-align: center; text-decoration: none; }
a { color: var(--accent); }
a.button { color: var(--accent-ink); }
.qr svg { display: block; width: 12rem; height: 12rem; margin: 1rem auto; }
code { font: 1rem/1.6 ui-monospace, monospace; overflow-wrap: anywhere; }
.other { margin: 1.25rem 0 0; font-size: .875rem; }
.codes { padding-left: 1.25rem; }
[hidden] { display: none !important; }
button:hover, .button:hover { filter: brightness(1.08); }
.secondary { margin-top: .75rem; border: 1px solid var(--accent); background: transparent; color: var(--accent); }
.separator { margin: 1.5rem 0 0; color: var(--quiet); text-align: center; }
details { margin-top: 1.5rem; }
summary { cursor: pointer; color: var(--quiet); }
.error { margin: 1.25rem 0 0; padding: .75rem .9rem; border-radius: .5rem; background: var(--alert-paper);
  color: var(--alert); font-weight: 550; }
@media (forced-colors: active) { .error, main { border: 1px solid; } }
`
