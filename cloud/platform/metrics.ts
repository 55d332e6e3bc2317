import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CompletedRequest } from './http/completed-request.ts'

type Sources = {
  database: { inUse: number; waiting: number }
  tokens: { hits: number; misses: number }
  tls: { expiresInSeconds: number; isRejected: boolean } | undefined
}

export type Metrics = { answered(answered: CompletedRequest): void; print(): Promise<string>; mediaType: string }

/**
 * Creates the Prometheus metrics of `/metrics`. Labels contain routes and never ids, so that the number of series stays
 * small.
 */
export function createMetrics({ database, tokens, tls }: Sources): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'millwright_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers: [registry],
  })
  gauge(registry, 'millwright_database_connections_in_use', 'Database connections in use', () => database.inUse)
  gauge(registry, 'millwright_database_waiting', 'Callers that wait for a database connection', () => database.waiting)
  counter(registry, 'millwright_token_cache_hits_total', 'Access tokens found in the cache', () => tokens.hits)
  counter(
    registry,
    'millwright_token_cache_misses_total',
    'Access tokens not found in the cache and verified',
    () => tokens.misses,
  )
  if (tls !== undefined) {
    gauge(
      registry,
      'millwright_tls_certificate_expires_seconds',
      'Seconds until the TLS certificate in use expires',
      () => tls.expiresInSeconds,
    )
    gauge(
      registry,
      'millwright_tls_certificate_rejected',
      '1 if a new TLS certificate is not usable and the former one is still in use',
      () => (tls.isRejected ? 1 : 0),
    )
  }
  return {
    answered: ({ method, route, status, ms }) => requests.observe({ method, route, status }, ms / 1000),
    print: () => registry.metrics(),
    mediaType: registry.contentType,
  }
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}

function counter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}
