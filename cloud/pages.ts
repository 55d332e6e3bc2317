import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Contract } from '@millwright/api/contract.ts'
import { statusText } from '@millwright/api/contracts.ts'
import { type ProblemCode, problemCodes } from '@millwright/api/problem.ts'
import { consolePages } from './console.ts'
import { openApi } from './platform/http/openapi.ts'
import type { Page } from './platform/http/pages.ts'
import type { Metrics } from './platform/metrics.ts'
import { sameBytes } from './platform/secrets/secrets.ts'
import { productVersion } from './platform/version.ts'
import type { Readiness } from './readiness.ts'

type Options = {
  contracts: readonly Contract[]
  readiness: Readiness
  metrics: Metrics
  metricsToken: string | undefined
  /**
   * Whether requests to /metrics from this machine need no token. Must be false if a proxy on this machine may forward
   * external requests.
   */
  metricsFromLoopback: boolean
}

const jsonType = 'application/json; charset=utf-8'
const htmlType = 'text/html; charset=utf-8'

/** Returns all pages and documents. The operations of the contracts are not included. */
export function pages({ contracts, readiness, metrics, ...options }: Options): Page[] {
  return [
    ...consolePages(),
    ...documentPages(contracts),
    { path: '/version', mediaType: jsonType, load: async () => JSON.stringify(versions(contracts)) },
    { path: '/healthz', mediaType: jsonType, live: true, load: async () => JSON.stringify({ status: 'ok' }) },
    readinessPage(readiness),
    {
      path: '/metrics',
      mediaType: metrics.mediaType,
      live: true,
      load: metrics.print,
      allow: ({ address, headers }) => mayReadMetrics({ address, headers, ...options }),
    },
  ]
}

function versions(contracts: readonly Contract[]) {
  return {
    product: productVersion,
    services: Object.fromEntries(contracts.map(({ name, version }) => [name, version])),
  }
}

function readinessPage(readiness: Readiness): Page {
  return {
    path: '/readyz',
    mediaType: jsonType,
    live: true,
    async load() {
      const reason = await readiness.reason()
      const warnings = readiness.warnings.length === 0 ? {} : { warnings: readiness.warnings }
      return reason === undefined
        ? { status: 200, body: JSON.stringify({ status: 'ready', ...warnings }) }
        : { status: 503, body: JSON.stringify({ status: 'not ready', reason, ...warnings }) }
    },
  }
}

type MetricsRequest = {
  address: string
  headers: Record<string, string | string[] | undefined>
} & Pick<Options, 'metricsToken' | 'metricsFromLoopback'>

/**
 * Returns true for a request with the configured token. If loopback is trusted, it also returns true for a request from
 * this machine.
 */
export function mayReadMetrics({ address, headers, metricsToken, metricsFromLoopback }: MetricsRequest): boolean {
  const proxied = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
  if (metricsFromLoopback && /^(127\.|::1$|::ffff:127\.)/.test(address) && !proxied) return true
  if (metricsToken === undefined) return false
  return sameBytes(Buffer.from(String(headers.authorization)), Buffer.from(`Bearer ${metricsToken}`))
}

/**
 * Returns the API reference: one document for all services, one document per service, and a page that displays them.
 */
function documentPages(contracts: readonly Contract[]): Page[] {
  const whole = { title: 'Millwright', version: productVersion, description: 'Open industrial asset management.' }
  const explorer = createRequire(import.meta.url).resolve('openapi-explorer/dist/browser/openapi-explorer.min.js')
  return [
    { path: '/openapi.json', mediaType: jsonType, load: async () => JSON.stringify(openApi(contracts, whole)) },
    ...contracts.map((contract) => ({
      path: `${contract.prefix}/openapi.json`,
      mediaType: jsonType,
      load: async () => JSON.stringify(openApi([contract], contract)),
    })),
    {
      path: '/docs',
      mediaType: htmlType,
      headers: { 'content-security-policy': docsPolicy },
      load: async () => docsPage,
    },
    { path: '/docs/explorer.js', mediaType: 'text/javascript; charset=utf-8', load: () => readFile(explorer) },
    {
      path: '/docs/problems',
      mediaType: htmlType,
      headers: { 'content-security-policy': docsPolicy },
      load: async () => problemsPage(),
    },
  ]
}

const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"

const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millwright API</title>
<link rel="icon" href="/console/mark.svg" type="image/svg+xml">
<style>
body { margin: 0; color-scheme: light }
openapi-explorer { min-height: 100vh }
.home { display: block; padding: 1.25rem 1.5rem 0; color: #eef3f7; font: 600 1rem system-ui, sans-serif }
</style>
<script type="module" src="/docs/explorer.js"></script>
<openapi-explorer spec-url="/openapi.json" bg-color="#ffffff" text-color="#14202b" header-color="#14202b"
  primary-color="#00646e" secondary-color="#a5ece5" nav-bg-color="#14202b" nav-text-color="#c6d1da"
  nav-hover-bg-color="#22323f" nav-hover-text-color="#4fd1c5">
<a class="home" slot="nav-header" href="/">Millwright console</a>
</openapi-explorer>
</html>
`

function problemsPage(): string {
  const rows = Object.entries(problemCodes).map(
    ([code, { title }]) =>
      `<tr id="${code}"><th scope="row"><code>${code.replaceAll('_', '_<wbr>')}</code><td>${statusText(code as ProblemCode)}<td>${title}`,
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Problem codes · Millwright</title>
<link rel="icon" href="/console/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/console.css">
<header class="bar">
<a class="brand" href="/"><img src="/console/mark.svg" alt="" width="26" height="26"><span>Millwright</span></a>
</header>
<main>
<h1>Problem codes</h1>
<p class="lead">Every error is a problem document (RFC 9457) with one of these codes. A code is never renamed.</p>
<table class="card codes">
<thead><tr><th scope="col">Code<th scope="col">Status<th scope="col">Meaning
<tbody>
${rows.join('\n')}
</table>
</main>
</html>
`
}
