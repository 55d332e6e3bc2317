import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parse as parseYaml } from 'yaml'
import { createLog } from './platform/log.ts'
import { testHub } from './platform/testing/hub.ts'
import { CertificateFiles } from './platform/tls/certificate-files.ts'
import { PairFolder, serverCertificate, testAuthority } from './platform/tls/testing.ts'
import { startTracing } from './platform/tracing.ts'

/**
 * These tests compare the dashboards, the alert rules and the guide with the metrics that a running platform returns
 * after real requests.
 */

const root = join(import.meta.dirname, '..')
const folder = join(root, 'docs/observability')
const guide = readFileSync(join(root, 'docs/how-to/observe-the-platform.md'), 'utf8')

/** The part of the parser's tree that the tests use. */
type Node = { name: string; from: number; to: number; type: { isError: boolean } }
type Parser = { parse(text: string): { iterate(visit: { enter(node: Node): void }): void } }

type Expression = { where: string; text: string; legend: string }

/** The labels that Prometheus adds to each series. */
const targetLabels = ['job', 'instance']

/** Returns the metrics of a scrape with their labels. */
function metricsIn(scrape: string): Map<string, Set<string>> {
  const metrics = new Map<string, Set<string>>()
  for (const line of scrape.split('\n')) {
    const [, name, labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? []
    if (name === undefined) continue
    const known = metrics.get(name) ?? new Set<string>()
    for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label)
    metrics.set(name, known)
  }
  return metrics
}

/** Returns all expressions of a dashboard: those of the panels, and those of the variables. */
function dashboardExpressions(file: string): Expression[] {
  const { panels, templating } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const ofPanels = panels.flatMap(
    ({ title, targets = [] }: { title: string; targets?: { expr: string; legendFormat: string }[] }) =>
      targets.map(({ expr, legendFormat }) => ({ where: `${file}: ${title}`, text: expr, legend: legendFormat })),
  )
  const ofVariables = templating.list.flatMap(({ name, definition }: { name: string; definition?: string }) => {
    const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition ?? '') ?? []
    return metric === '' ? [] : [{ where: `${file}: ${name}`, text: metric, legend: `{{${label}}}` }]
  })
  return [...ofPanels, ...ofVariables]
}

type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: Record<string, string> }

const rules: Rule[] = parseYaml(readFileSync(join(folder, 'alerts.yaml'), 'utf8')).groups.flatMap(
  ({ rules: some }: { rules: Rule[] }) => some,
)
const dashboards = ['dashboard-platform.json', 'dashboard-plants.json']
const expressions: Expression[] = [
  ...dashboards.flatMap(dashboardExpressions),
  ...rules.map(({ alert, expr, annotations }) => ({
    where: alert,
    text: expr,
    legend: Object.values(annotations)
      .flatMap((text) => [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => `{{${label}}}`))
      .join(''),
  })),
]

/** Runs a garbage collection. Node has this function only with a flag. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

describe('dashboards and alert rules', () => {
  const home = mkdtempSync(join(tmpdir(), 'millwright-observability-'))
  let metrics: Map<string, Set<string>>
  let parser: Parser

  before(async () => {
    // The name is a variable, because the type of the package is not needed.
    const library = '@prometheus-io/lezer-promql'
    parser = (await import(library)).parser
    const tracing = startTracing(
      {
        tracesBaseUrl: 'http://127.0.0.1:1',
        tracesUrl: undefined,
        tracesHeaders: [],
        tracesService: 'millwright',
        tracesSampler: 'always_off',
        tracesRatio: 1,
      },
      createLog({ level: 'silent' }),
    )
    using pair = new PairFolder(serverCertificate(testAuthority()))
    const log = createLog({ level: 'silent' })
    const tls = await CertificateFiles.open({ certFile: pair.certFile, keyFile: pair.keyFile, log })
    await using hub = await testHub({ arrangement: 'one process', own: true, home, tracing, tls })
    const admin = await hub.as('administrator')
    await admin.onboarding.createGateway({ body: { data: { name: 'Line 9' } } })
    await admin.inventory.listAssets({ query: {} })
    await hub.request({ method: 'GET', path: '/missing' })
    await hub.settle()
    const scrape = async () => (await hub.request({ method: 'GET', path: '/metrics' })).text
    let text = await scrape()
    // The metric of garbage collections exists after the first collection.
    for (
      const deadline = Date.now() + 30_000;
      !text.includes('nodejs_gc_duration_seconds_sum');
      text = await scrape()
    ) {
      assert.ok(Date.now() < deadline, 'no garbage collection was measured')
      collectGarbage()
    }
    metrics = metricsIn(text)
    const gateways = text.split('\n').filter((line) => line.startsWith('millwright_tenant_gateways{'))
    assert.ok(
      gateways.some((line) => line.includes(`tenant="${hub.tenant.name}",state="created"} 1`)),
      gateways.join(),
    )
  })

  after(() => rmSync(home, { recursive: true, force: true }))

  /** Returns the names of metrics and labels in an expression, and whether it has a syntax error. */
  function namesIn(text: string): { metrics: string[]; labels: string[]; isValid: boolean } {
    const query = text.replaceAll('$__rate_interval', '5m')
    const found = { metrics: [] as string[], labels: [] as string[], isValid: true }
    parser.parse(query).iterate({
      enter({ name, from, to, type }) {
        if (type.isError) found.isValid = false
        if (name === 'Identifier') found.metrics.push(query.slice(from, to))
        if (name === 'LabelName') found.labels.push(query.slice(from, to))
      },
    })
    return found
  }

  test('every expression is valid PromQL', () => {
    assert.ok(expressions.length > 70)
    assert.deepEqual(
      expressions.filter(({ text }) => !namesIn(text).isValid).map(({ where, text }) => `${where}: ${text}`),
      [],
    )
    assert.equal(namesIn('sum(rate(a[5m])').isValid, false)
  })

  test('every metric and label of an expression exists in the metrics of a running platform', () => {
    const faults = expressions.flatMap(({ where, text, legend }) => {
      const used = namesIn(text)
      const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      const unknown = used.metrics.filter((name) => name !== 'up' && !metrics.has(name))
      const known = new Set([...targetLabels, ...used.metrics.flatMap((name) => [...(metrics.get(name) ?? [])])])
      const wrong = [...used.labels, ...shown].filter((label) => !known.has(label))
      return [...unknown, ...wrong].map((name) => `${where}: ${name}`)
    })
    assert.deepEqual(faults, [])
  })

  test('the guide describes every metric of the platform, and no other', () => {
    const families = new Set(
      [...metrics.keys()]
        .filter((name) => name.startsWith('millwright_'))
        .map((name) => name.replace(/_(bucket|sum|count)$/, '')),
    )
    const described = new Set([...guide.matchAll(/`(millwright_\w+)`/g)].map(([, name = '']) => name))
    assert.deepEqual([...families.difference(described)], [])
    assert.deepEqual([...described.difference(families)], [])
  })

  test('every alert has a severity, a summary, an instruction and a section of the guide', () => {
    const headings = new Set([...guide.matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => text.toLowerCase()))
    for (const { alert, labels, annotations } of rules) {
      assert.match(labels.severity, /^(critical|warning|info)$/, alert)
      assert.ok((annotations.summary ?? '').length > 10 && (annotations.description ?? '').length > 20, alert)
      assert.equal(annotations.runbook_url, `/docs/how-to/observe-the-platform#${alert.toLowerCase()}`)
      assert.ok(headings.has(alert.toLowerCase()), `The guide has no section ${alert}`)
    }
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  })

  test('every panel has a title, a description and its own id, and names no data source of another installation', () => {
    for (const file of dashboards) {
      const { panels } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
      assert.equal(new Set(panels.map(({ id }: { id: number }) => id)).size, panels.length)
      for (const { type, title, description, datasource } of panels) {
        if (type === 'row') continue
        assert.ok(title !== '' && description !== '', `${file}: ${title}`)
        assert.deepEqual(datasource, { type: 'prometheus', uid: `\${datasource}` })
      }
    }
  })

  const promtool = spawnSync('promtool', ['--version']).status === 0
  test('promtool accepts the rules, and their unit tests pass', {
    skip: !promtool && 'promtool is not installed',
  }, () => {
    for (const args of [
      ['check', 'rules', 'alerts.yaml'],
      ['test', 'rules', 'alerts.test.yaml'],
    ])
      execFileSync('promtool', args, { cwd: folder, stdio: 'pipe' })
  })
})
