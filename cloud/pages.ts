import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Contract } from '@millwright/api/contract.ts'
import { consolePages } from './console.ts'
import { documentationPages } from './documentation/pages.ts'
import { downloadPages } from './downloads.ts'
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
  /** The folder that contains the gateway package. */
  packageFolder: string
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
export function pages({ contracts, readiness, metrics, packageFolder, ...options }: Options): Page[] {
  return [
    ...consolePages(),
    ...documentationPages(),
    ...referencePages(contracts),
    ...downloadPages(packageFolder),
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
 * this machine to `localhost` or a loopback address.
 */
export function mayReadMetrics({ address, headers, metricsToken, metricsFromLoopback }: MetricsRequest): boolean {
  const proxied = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
  // A web page whose name resolves to this machine (DNS rebinding) sends its own name as the host.
  const isNamedLocally = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i.test(String(headers.host))
  if (metricsFromLoopback && isNamedLocally && /^(127\.|::1$|::ffff:127\.)/.test(address) && !proxied) return true
  if (metricsToken === undefined) return false
  return sameBytes(Buffer.from(String(headers.authorization)), Buffer.from(`Bearer ${metricsToken}`))
}

/**
 * Returns the API reference: one document for all services, one document per service, and a page that displays them.
 */
function referencePages(contracts: readonly Contract[]): Page[] {
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
      path: '/docs/api',
      mediaType: htmlType,
      headers: { 'content-security-policy': referencePolicy },
      load: async () => referencePage,
    },
    { path: '/docs/api/explorer.js', mediaType: 'text/javascript; charset=utf-8', load: () => readFile(explorer) },
  ]
}

const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"

const referencePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millwright API</title>
<link rel="icon" href="/console/mark.svg" type="image/svg+xml">
<style>
body { margin: 0; color-scheme: light }
openapi-explorer { min-height: 100vh }
.home { display: flex; gap: 1.5rem; padding: 1.25rem 1.5rem 0; font: 600 1rem system-ui, sans-serif }
.home a { color: #eef3f7 }
</style>
<script type="module" src="/docs/api/explorer.js"></script>
<openapi-explorer spec-url="/openapi.json" bg-color="#ffffff" text-color="#14202b" header-color="#14202b"
  primary-color="#00646e" secondary-color="#a5ece5" nav-bg-color="#14202b" nav-text-color="#c6d1da"
  nav-hover-bg-color="#22323f" nav-hover-text-color="#4fd1c5">
<nav class="home" slot="nav-header" aria-label="Millwright"><a href="/docs">Documentation</a> <a href="/console/">Console</a></nav>
</openapi-explorer>
</html>
`
