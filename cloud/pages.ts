import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Contract } from '@millwright/api/contract.ts'
import { problemCodes } from '@millwright/api/problem.ts'
import type { Database } from './platform/database/database.ts'
import { statement } from './platform/database/statement.ts'
import { openApi } from './platform/http/openapi.ts'
import type { Page } from './platform/http/pages.ts'
import type { Metrics } from './platform/metrics.ts'
import { sameBytes } from './platform/secrets/secrets.ts'
import { productVersion } from './version.ts'

type Options = {
  contracts: readonly Contract[]
  database: Database
  metrics: Metrics
  metricsToken: string | undefined
}

const jsonType = 'application/json; charset=utf-8'
const htmlType = 'text/html; charset=utf-8'

/** What is served besides the operations of the contracts. */
export function pages({ contracts, database, metrics, metricsToken }: Options): Page[] {
  return [
    ...consolePages(),
    ...documentPages(contracts),
    { path: '/version', mediaType: jsonType, load: async () => JSON.stringify(versions(contracts)) },
    { path: '/healthz', mediaType: jsonType, live: true, load: async () => JSON.stringify({ status: 'ok' }) },
    readiness(database),
    {
      path: '/metrics',
      mediaType: metrics.mediaType,
      live: true,
      load: metrics.print,
      allow: ({ address, headers }) => mayReadMetrics({ address, headers, metricsToken }),
    },
  ]
}

function versions(contracts: readonly Contract[]) {
  return {
    product: productVersion,
    services: Object.fromEntries(contracts.map(({ name, version }) => [name, version])),
  }
}

const ping = statement('select 1')

function readiness(database: Database): Page {
  let ready = false
  return {
    path: '/readyz',
    mediaType: jsonType,
    live: true,
    status: () => (ready ? 200 : 503),
    load: async () => {
      ready = await database
        .reference((handle) => handle.run(ping))
        .then(
          () => true,
          () => false,
        )
      return JSON.stringify({ status: ready ? 'ready' : 'database not reachable' })
    },
  }
}

type Asking = {
  address: string
  headers: Record<string, string | string[] | undefined>
  metricsToken: string | undefined
}

/** From this machine itself, or with the configured token. A request that came through a proxy is not from here. */
export function mayReadMetrics({ address, headers, metricsToken }: Asking): boolean {
  const proxied = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
  if (/^(127\.|::1$|::ffff:127\.)/.test(address) && !proxied) return true
  if (metricsToken === undefined) return false
  return sameBytes(Buffer.from(String(headers.authorization)), Buffer.from(`Bearer ${metricsToken}`))
}

/** The API reference: one document for all, one per service, and a page to read them. */
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
<style>body { margin: 0 } openapi-explorer { min-height: 100vh }</style>
<script type="module" src="/docs/explorer.js"></script>
<openapi-explorer spec-url="/openapi.json" hide-console="false"></openapi-explorer>
</html>
`

function problemsPage(): string {
  const rows = Object.entries(problemCodes).map(
    ([code, { status, title }]) => `<tr id="${code}"><td><code>${code}</code><td>${status}<td>${title}`,
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Problems</title>
<style>body { font: 16px/1.5 system-ui; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color-scheme: light dark }
td, th { padding: .25rem .75rem; text-align: left } tr:target { outline: 2px solid }</style>
<h1>Problems</h1>
<p>Every error is a problem document (RFC 9457) with one of these codes.</p>
<table><tr><th>Code<th>Status<th>Meaning
${rows.join('\n')}
</table>
</html>
`
}

const consolePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

/** The console, as it lies in the workspace `web`. */
function consolePages(): Page[] {
  const file = (name: string) => readFile(new URL(`../web/${name}`, import.meta.url))
  const headers = { 'content-security-policy': consolePolicy }
  return [
    { path: '/', mediaType: htmlType, headers, load: () => file('index.html') },
    { path: '/auth/callback', mediaType: htmlType, headers, load: () => file('index.html') },
    { path: '/console.js', mediaType: 'text/javascript; charset=utf-8', load: () => file('console.js') },
    { path: '/console.css', mediaType: 'text/css; charset=utf-8', load: () => file('console.css') },
  ]
}
