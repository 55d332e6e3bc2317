import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'

export type MessagePage = {
  status: number
  title: string
  /** Each text is one paragraph. */
  texts: readonly string[]
  link?: { url: string; label: string }
  headers?: Readonly<Record<string, string>>
}

const style =
  'body{margin:4rem auto;max-width:36rem;padding:0 1.5rem;font:1rem/1.5 system-ui,sans-serif;color-scheme:light dark}' +
  'h1{font-size:1.5rem}p{overflow-wrap:anywhere}'
const styleDigest = createHash('sha256').update(style).digest('base64')

/** Returns a page of the platform on the host of a session. It contains no scripts and nothing of the device. */
function renderMessagePage({ title, texts, link, headers }: MessagePage): {
  body: string
  headers: Record<string, string>
} {
  const paragraphs = texts.map((text) => `<p>${escaped(text)}</p>`)
  if (link !== undefined)
    paragraphs.push(`<p><a rel="noreferrer" href="${escaped(link.url)}">${escaped(link.label)}</a></p>`)
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Millwright</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
${paragraphs.join('\n')}
</body>
</html>
`
  return {
    body,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleDigest}'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
      ...headers,
    },
  }
}

function escaped(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

export function sendPage(response: ServerResponse, page: MessagePage): void {
  if (response.headersSent || response.destroyed) return
  const { body, headers } = renderMessagePage(page)
  response.writeHead(page.status, headers)
  response.end(response.req.method === 'HEAD' ? undefined : body)
}
