import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { readCosts, updatedCosts } from './costs.ts'
import { InvalidFigure } from './demand.ts'
import {
  diskReport,
  largestPlant,
  machineOptions,
  overview,
  type Plant,
  parseSizingArguments,
  plantOf,
  plantOptions,
  sizingHelp,
  sizingOf,
  typicalMachines,
  withSizingTables,
} from './sizing.ts'

const costs = readCosts()
const needsOf = (plant: Plant) => {
  const { cores, memoryGibibytes: memory, diskGigabytes: disk } = sizingOf(plant, costs)
  return { cores, memory, disk }
}
const amount = (most: number) => fc.integer({ min: 0, max: most })
const plants = fc
  .record({
    assets: fc.integer({ min: 1, max: 1e6 }),
    gateways: amount(1_000),
    requests: amount(500),
    changes: amount(1e6),
  })
  .map(plantOf)

test('a plant with more assets, gateways, requests, changes or days of history never needs a smaller machine', () => {
  const names = ['assets', 'gateways', 'requests', 'changes', 'history-days'] as const
  fc.assert(
    fc.property(plants, fc.constantFrom(...names), fc.integer({ min: 1, max: 1_000 }), (plant, name, more) => {
      const before = needsOf(plant)
      const after = needsOf({ ...plant, [name]: plant[name] + more })
      for (const resource of ['cores', 'memory', 'disk'] as const) {
        assert.ok(Number.isFinite(before[resource]) && before[resource] > 0)
        assert.ok(after[resource] >= before[resource] * (1 - 1e-9), `${resource} shrinks with ${name}`)
      }
    }),
    { numRuns: 200 },
  )
})

test('the largest plant of a machine fits on the machine, and a plant that is 2 % larger does not', () => {
  for (const machine of typicalMachines) {
    const largest = largestPlant(machine, plantOf({}), costs)
    assert.ok('sizing' in largest)
    const { plant } = largest.sizing
    const fits = (needs: ReturnType<typeof needsOf>) =>
      (['cores', 'memory', 'disk'] as const).every((resource) => needs[resource] <= machine[resource])
    assert.ok(fits(needsOf(plant)))
    const factor = 1.02
    const larger = { assets: plant.assets * factor, gateways: Math.ceil(plant.gateways * factor) }
    const rates = { requests: plant.requests * factor, changes: plant.changes * factor }
    assert.ok(!fits(needsOf({ ...plant, ...larger, ...rates })))
  }
})

test('reports that a machine is too small for one asset', () => {
  const largest = largestPlant({ cores: 1, memory: 1, disk: 10 }, plantOf({}), costs)
  assert.ok(!('sizing' in largest))
})

test('the parts of the disk space add up to the disk space', () => {
  const sizing = sizingOf(plantOf({ assets: 50_000 }), costs)
  const sum = Object.values(sizing.disk).reduce((total, part) => total + part, 0)
  assert.ok(Math.abs(sum - sizing.diskGigabytes) < 1e-6)
  for (const { detail, disk } of diskReport(sizing).rows) assert.ok(detail !== '', `${disk} has an explanation`)
})

test('figures that are not given follow from the number of assets', () => {
  const { plant, machine } = parseSizingArguments(['--assets', '20000', '--requests', '7'])
  assert.deepEqual(plant, plantOf({ assets: 20_000, requests: 7 }))
  assert.equal(plant?.gateways, 20)
  assert.equal(machine, undefined)
  assert.deepEqual(parseSizingArguments(['--cores=4', '--memory=8', '--disk=200']).machine, {
    cores: 4,
    memory: 8,
    disk: 200,
  })
})

test('refuses invalid arguments with the name of the option', () => {
  for (const [args, name] of [
    [['--assets=0'], '--assets'],
    [['--requests=many'], '--requests'],
    [['--disk='], '--disk'],
    [['--cores=4'], '--memory, --disk'],
    [['--colour'], '--colour'],
    [['50000'], '50000'],
  ] as const)
    assert.throws(
      () => parseSizingArguments(args),
      (error: Error) => error instanceof InvalidFigure && error.message.includes(name),
    )
})

test('the help contains every option', () => {
  for (const name of [...Object.keys(plantOptions), ...Object.keys(machineOptions), 'json'])
    assert.ok(sizingHelp().includes(`--${name} `), name)
})

test('the command prints JSON, and ends with code 1 and one sentence if an argument is invalid', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [fileURLToPath(new URL('../sizing.ts', import.meta.url)), ...args], {
      encoding: 'utf8',
    })
  const { assets } = JSON.parse(run('--json', '--assets', '300').stdout).plant
  assert.equal(assets, 300)
  const { status, stderr } = run('--assets', '-1')
  assert.equal(status, 1)
  assert.match(stderr, /^[^\n]*--assets[^\n]*\n$/)
})

test('the results of the benchmark of disk space replace the stored figures', () => {
  const rows = [
    { table: 'all tables, new asset', lasting: 9_000, events: 2_000, statuses: 50 },
    { table: 'all tables, report', lasting: 0, events: 0, statuses: 60 },
  ]
  const { diskBytes } = updatedCosts(costs, { disk: { title: '', rows, goals: [] } }, 'today')
  assert.deepEqual(diskBytes, {
    ...costs.diskBytes,
    asset: 9_000,
    assetEvents: 2_000,
    reportStatus: 60,
    measured: 'npm run bench disk, today',
  })
})

test('the page shows the sizing of the stored costs', () => {
  const page = readFileSync(new URL('../../docs/explanation/capacity.md', import.meta.url), 'utf8')
  assert.equal(withSizingTables(page, overview(costs)), page, 'run `npm run sizing -- --pages`')
})
