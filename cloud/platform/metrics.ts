import { statfs } from 'node:fs/promises'
import type { Tracer } from '@millwright/api/tracing.ts'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { lastBackup } from './backup/last-backup.ts'
import type { CompletedRequest } from './http/completed-request.ts'
import type { SlowLog } from './slow-log.ts'
import type { RunOutcome } from './tasks/run.ts'
import type { TenantGauge } from './tenant-gauge.ts'
import type { TenantGauges } from './tenant-gauges.ts'
import { productVersion } from './version.ts'

type Sources = {
  database: {
    inUse: number
    waiting: number
    size: number
    counts: { statements: number; statementMs: number }
    outage(limitMs: number): Promise<string | undefined>
  }
  tokens: () => { hits: number; misses: number }
  tasks: () => { running: number }
  slowLog: SlowLog
  tracer: Tracer | undefined
  tenantGauges: TenantGauges
  /** The folder with the data of the platform. Undefined if the platform has none. */
  home: string | undefined
  tls: { expiresInSeconds: number; isRejected: boolean } | undefined
}

export type Metrics = {
  answered(answered: CompletedRequest): void
  /** Counts a run of a background task. */
  ran(run: { kind: string; outcome: RunOutcome; ms: number }): void
  print(): Promise<string>
  mediaType: string
}

/** How long a scrape waits for the database. */
const outageMs = 1_000

/**
 * Creates the Prometheus metrics of `/metrics`. Labels contain routes and never ids, so that the number of series stays
 * small.
 */
export function createMetrics(sources: Sources): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'millwright_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers: [registry],
  })
  const runs = new Counter({
    name: 'millwright_task_runs_total',
    help: 'Runs of background tasks by kind and outcome: done, retried, failed, lost',
    labelNames: ['kind', 'outcome'] as const,
    registers: [registry],
  })
  const runSeconds = new Counter({
    name: 'millwright_task_run_seconds_total',
    help: 'Time of all runs of background tasks, by kind',
    labelNames: ['kind'] as const,
    registers: [registry],
  })
  new Gauge({
    name: 'millwright_build_info',
    help: 'Always 1; the label contains the version of the platform',
    labelNames: ['version'] as const,
    registers: [registry],
  }).set({ version: productVersion }, 1)
  addDatabaseMetrics(registry, sources)
  addProcessMetrics(registry, sources)
  addHomeMetrics(registry, sources)
  addTenantMetrics(registry, sources.tenantGauges)
  return {
    answered: ({ method, route, status, ms }) => requests.observe({ method, route, status }, ms / 1000),
    ran({ kind, outcome, ms }) {
      runs.inc({ kind, outcome })
      runSeconds.inc({ kind }, ms / 1000)
    },
    print: () => registry.metrics(),
    mediaType: registry.contentType,
  }
}

function addDatabaseMetrics(registry: Registry, { database }: Sources): void {
  gauge(registry, 'millwright_database_connections_in_use', 'Database connections in use', () => database.inUse)
  gauge(
    registry,
    'millwright_database_connections_limit',
    'Maximum number of database connections of this process',
    () => database.size,
  )
  gauge(registry, 'millwright_database_waiting', 'Callers that wait for a database connection', () => database.waiting)
  gauge(registry, 'millwright_database_up', '1 if the database works, and 0 during an outage', async () =>
    (await database.outage(outageMs)) === undefined ? 1 : 0,
  )
  counter(
    registry,
    'millwright_database_statements_total',
    'Statements that the database has answered',
    () => database.counts.statements,
  )
  counter(
    registry,
    'millwright_database_statement_seconds_total',
    'Time from sending a statement to its response, of all statements',
    () => database.counts.statementMs / 1000,
  )
}

function addProcessMetrics(registry: Registry, { tokens, tasks, slowLog, tracer }: Sources): void {
  counter(registry, 'millwright_token_cache_hits_total', 'Access tokens found in the cache', () => tokens().hits)
  counter(
    registry,
    'millwright_token_cache_misses_total',
    'Access tokens not found in the cache and verified',
    () => tokens().misses,
  )
  gauge(registry, 'millwright_tasks_running', 'Background tasks that run in this process', () => tasks().running)
  counter(
    registry,
    'millwright_slow_requests_total',
    'Requests that took longer than the threshold of the slow-request log',
    () => slowLog.counts.requests,
  )
  counter(
    registry,
    'millwright_slow_statements_total',
    'Database statements that took longer than the threshold of the slow-statement log',
    () => slowLog.counts.statements,
  )
  if (tracer === undefined) return
  counter(
    registry,
    'millwright_trace_spans_exported_total',
    'Spans that the collector has accepted',
    () => tracer.counts.exported,
  )
  counter(
    registry,
    'millwright_trace_spans_dropped_total',
    'Spans that were dropped, because the collector was slow or not reachable',
    () => tracer.counts.dropped,
  )
}

function addHomeMetrics(registry: Registry, { home, tls }: Sources): void {
  if (home !== undefined) {
    gauge(
      registry,
      'millwright_home_free_bytes',
      'Free disk space at the home of the platform',
      async () => (await space(home)).free,
    )
    gauge(
      registry,
      'millwright_home_size_bytes',
      'Size of the file system with the home of the platform',
      async () => (await space(home)).size,
    )
    gauge(
      registry,
      'millwright_last_backup_timestamp_seconds',
      'Time of the last successful millwright backup with this home, in seconds since 1970; 0 if there was none',
      async () => ((await lastBackup(home))?.getTime() ?? 0) / 1000,
    )
  }
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
}

async function space(folder: string): Promise<{ free: number; size: number }> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, size: blocks * bsize }
}

function addTenantMetrics(registry: Registry, tenantGauges: TenantGauges): void {
  gauge(
    registry,
    'millwright_tenant_metrics_age_seconds',
    'Age of the metrics that start with millwright_tenant, because they are not read at every scrape',
    () => tenantGauges.ageSeconds ?? 0,
  )
  for (const tenantGauge of tenantGauges.gauges) addTenantGauge(registry, tenantGauges, tenantGauge)
}

function addTenantGauge(registry: Registry, tenantGauges: TenantGauges, tenantGauge: TenantGauge): void {
  const { name, help, label } = tenantGauge
  new Gauge({
    name,
    help,
    labelNames: label === undefined ? ['tenant'] : ['tenant', label],
    registers: [registry],
    async collect() {
      const samples = await tenantGauges.samplesOf(tenantGauge)
      this.reset()
      for (const { tenant, label: text, value } of samples)
        this.set(label === undefined || text === undefined ? { tenant } : { tenant, [label]: text }, value)
    },
  })
}

function gauge(registry: Registry, name: string, help: string, read: () => number | Promise<number>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      try {
        this.set(await read())
      } catch {
        // The value is not known at the moment, for example because the file system does not respond.
        this.remove()
      }
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
