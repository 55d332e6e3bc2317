import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { answerOf, markdownTable, reportOf } from './answer.ts'
import { capacityChart } from './chart.ts'
import { predictRate } from './closed-loop.ts'
import { readCosts, updatedCosts } from './costs.ts'
import { type Demand, defaultMachines, goals, InvalidFigure, parseCapacityArguments } from './demand.ts'
import { capacityOf, saturations } from './model.ts'

const costs = readCosts()
const machines = defaultMachines
const answers = goals.map(({ name, demand }) => answerOf(name, { demand, machines, costs }))
const doc = (path: string) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

const amount = (most: number) => fc.integer({ min: 0, max: most })
const demands: fc.Arbitrary<Demand> = fc
  .record({ tenants: amount(20_000), assets: amount(2e9), gateways: amount(2e5), users: amount(1e5) })
  .map((figures) => ({ ...parseCapacityArguments([]).demand, ...figures, tenants: Math.max(1, figures.tenants) }))

const resources = (demand: Demand) => {
  const { rates, limits, workersFor, ...figures } = capacityOf({ demand, machines, costs })
  // More processes check the tenants more often, so the time of a takeover can shrink with the demand.
  const growing = limits.filter(({ name }) => name !== 'takeover of tasks')
  return { figures: { ...figures, ...rates }, limits: growing.map(({ used }) => used) }
}

test('every figure of an answer is a finite number', () => {
  fc.assert(
    fc.property(demands, (demand) => {
      const { figures, limits } = resources(demand)
      for (const value of [...Object.values(figures), ...limits]) assert.ok(Number.isFinite(value) && value >= 0)
    }),
    { numRuns: 200 },
  )
})

test('more tenants, assets, gateways or users never need less', () => {
  const grown = fc.constantFrom('tenants', 'assets', 'gateways', 'users')
  fc.assert(
    fc.property(demands, grown, fc.integer({ min: 1, max: 1_000_000 }), (demand, name, more) => {
      const before = resources(demand)
      const after = resources({ ...demand, [name]: demand[name] + more })
      const smaller = Object.entries(before.figures).filter(([figure, value]) => {
        // The memory of one process shrinks when more processes share the gateways.
        if (figure === 'processMebibytes') return false
        return (after.figures[figure as keyof typeof after.figures] ?? 0) < value * (1 - 1e-9)
      })
      assert.deepEqual(smaller, [])
      before.limits.forEach((used, index) => {
        assert.ok((after.limits[index] ?? 0) >= used * (1 - 1e-9))
      })
    }),
    { numRuns: 200 },
  )
})

test('the processes have enough processor time and memory for the work that they cause', () => {
  fc.assert(
    fc.property(demands, (demand) => {
      const { processes, processCores, processMebibytes } = capacityOf({ demand, machines, costs })
      assert.ok(processCores <= (processes - 1) * (machines.utilisation / 100) + 1e-9)
      assert.ok(processMebibytes <= machines['process-memory'] + 1)
    }),
    { numRuns: 200 },
  )
})

test('a limit is full at the share of the demand that the model returns', () => {
  for (const { demand, limits } of answers)
    for (const { name, share } of limits.filter((limit) => limit.share < 100 && limit.unit !== 's')) {
      const at = (factor: number) => {
        const { tenants, assets, gateways, users } = demand
        const scaled = {
          ...demand,
          tenants: Math.max(1, tenants * share * factor),
          assets: assets * share * factor,
          gateways: gateways * share * factor,
          users: users * share * factor,
        }
        const limit = capacityOf({ demand: scaled, machines, costs }).limits.find((one) => one.name === name)
        return (limit?.used ?? 0) / (limit?.capacity ?? 1)
      }
      assert.ok(at(1.001) >= 1, `${name} is full above its share`)
      assert.ok(at(0.999) <= 1, `${name} is not full below its share`)
    }
})

test('the limits are sorted, and those of the other database arrangement are left out', () => {
  for (const { demand } of goals) {
    const found = saturations({ demand, machines, costs })
    const shares = found.map(({ share }) => share)
    assert.deepEqual(
      shares,
      shares.toSorted((one, other) => one - other),
    )
    assert.equal(new Set(found.map(({ database }) => database)).size <= 2, true)
  }
})

test('the takeover is fast enough for few tenants, and too slow for very many tenants', () => {
  const takeover = (tenants: number) => {
    const demand = { ...parseCapacityArguments([]).demand, tenants }
    return capacityOf({ demand, machines, costs }).limits.find(({ name }) => name === 'takeover of tasks')?.used ?? 0
  }
  assert.ok(takeover(100) < 7)
  assert.ok(takeover(1_000) < 10)
  assert.ok(takeover(100_000) > 20)
})

test('fewer processes per tenant cause fewer polls', () => {
  const { demand } = goals.at(-1) ?? { demand: parseCapacityArguments([]).demand }
  const polls = (most: number) =>
    capacityOf({ demand: { ...demand, 'processes-per-tenant': most }, machines, costs }).rates.jobPoll
  assert.ok(Math.round(polls(1)) === demand.tenants)
  assert.ok(polls(2) < 2.01 * demand.tenants)
  assert.ok(polls(100_000) > 10 * demand.tenants)
})

test('flags replace the defaults, and a figure outside its limits is refused with its name and limits', () => {
  const { demand, machines: changed, hasDemand } = parseCapacityArguments(['--tenants', '12', '--node-cores', '4'])
  assert.equal(demand.tenants, 12)
  assert.equal(changed['node-cores'], 4)
  assert.equal(hasDemand, true)
  assert.equal(parseCapacityArguments(['--node-cores', '4']).hasDemand, false)
  for (const [name, text] of [
    ['tenants', '0'],
    ['assets', '-1'],
    ['gateways', 'many'],
    ['users', ''],
    ['peak-factor', 'NaN'],
    ['utilisation', '101'],
    ['node-disk', 'Infinity'],
  ])
    assert.throws(
      () => parseCapacityArguments([`--${name}=${text}`]),
      (error: Error) => error instanceof InvalidFigure && error.message.includes(`--${name}`),
    )
  assert.throws(() => parseCapacityArguments(['--colour', 'blue']), InvalidFigure)
})

test('the results of benchmarks replace only the costs that they contain', () => {
  const rows = [{ cost: 'read', 'platform µs': 123.456, 'database µs': 45.6, statements: 1, bytes: 3000 }]
  const updated = updatedCosts(costs, { costs: { title: '', rows, goals: [] } }, 'today')
  assert.deepEqual(updated.work.read, {
    platformMicros: 123,
    databaseMicros: 45.6,
    statements: 1,
    bytes: 3000,
    logBytes: costs.work.read.logBytes,
    measured: 'npm run bench costs, today',
  })
  assert.deepEqual({ ...updated, work: { ...updated.work, read: costs.work.read } }, costs)
})

test('the predicted rate is the lowest bound of callers, processes, load generator and cores', () => {
  const cost = { platformMicros: 400, databaseMicros: 100, clientMicros: 50 }
  const loop = { cost, cores: 8, idleCores: 0.01, callers: 64 }
  assert.deepEqual(predictRate({ ...loop, processes: 1 }), { rate: 2_500, bottleneck: 'processes' })
  assert.deepEqual(predictRate({ ...loop, processes: 2 }), { rate: 5_000, bottleneck: 'processes' })
  assert.equal(predictRate({ ...loop, processes: 16 }).bottleneck, 'cores')
  assert.equal(predictRate({ ...loop, processes: 16, idleCores: 0.5 }).rate, 0)
  assert.equal(predictRate({ ...loop, processes: 16, callers: 1 }).bottleneck, 'callers')
  assert.equal(predictRate({ ...loop, processes: 16, cores: 64 }).bottleneck, 'load generator')
})

test('the page and the picture of the documentation show the answers of the stored costs', () => {
  assert.ok(doc('explanation/capacity.md').includes(markdownTable(answers)), 'run `npm run capacity -- --pages`')
  assert.equal(doc('figures/capacity.svg'), capacityChart(answers), 'run `npm run capacity -- --pages`')
})

test('a report names each limit with its use and its share', () => {
  const [answer] = answers
  assert.ok(answer !== undefined)
  const { goals: lines } = reportOf(answer)
  assert.equal(lines.length, answer.limits.length)
  for (const { goal, found } of lines)
    assert.match(`${goal}: ${found}`, /: at most .+: .+, (?:full at .+ % of|not full at a thousand times) this demand/)
})
