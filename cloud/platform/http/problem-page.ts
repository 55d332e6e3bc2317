import { createHash } from 'node:crypto'
import type { ProblemDocument } from '@millwright/api/problem.ts'

const texts = {
  en: {
    title: 'Millwright is not available',
    advice: 'Reload the page in a few seconds.',
    code: 'Code',
    trace: 'Trace id',
  },
  de: {
    title: 'Millwright ist nicht verfügbar',
    advice: 'Laden Sie die Seite in einigen Sekunden neu.',
    code: 'Code',
    trace: 'Trace-ID',
  },
} as const

const style =
  'body{margin:4rem auto;max-width:36rem;padding:0 1.5rem;font:1rem/1.5 system-ui,sans-serif;color-scheme:light dark}h1{font-size:1.5rem}'
const styleDigest = createHash('sha256').update(style).digest('base64')

export const problemPageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleDigest}'; frame-ancestors 'none'; base-uri 'none'`,
} as const

/** Returns the page that a browser shows if the platform cannot respond, for example while the database is down. */
export function problemPage({ code, detail, traceId }: ProblemDocument, acceptLanguage = ''): string {
  const language = /^\s*de\b/i.test(acceptLanguage) ? 'de' : 'en'
  const text = texts[language]
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text.title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${text.title}</h1>
<p lang="en">${escaped(detail)}</p>
<p>${text.advice}</p>
<p>${text.code}: <code>${escaped(code)}</code>, ${text.trace}: <code>${escaped(traceId ?? '')}</code></p>
</main>
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
