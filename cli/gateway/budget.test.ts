import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { defaultBudget } from '@millwright/api/scan-budget.ts'
import { run } from '../program/program.ts'
import { testTerminal } from '../testing.ts'

const home = mkdtempSync(join(tmpdir(), 'budget-'))
after(() => rmSync(home, { recursive: true, force: true }))

async function budget(...args: string[]) {
  const { terminal, printed } = testTerminal({})
  const code = await run(['gateway', 'budget', '--home', home, ...args], terminal)
  return { code, ...printed }
}
const stored = () => JSON.parse(readFileSync(join(home, 'budget.json'), 'utf8'))

test('shows the default budget, changes single limits, and restores the defaults', async () => {
  assert.deepEqual(JSON.parse((await budget('--json')).out).data, defaultBudget)
  const change = ['--set', 'perDevice.requestsPerSecond=5', '--exclude', '10.0.0.7', '--hours', '22:00-05:00']
  assert.equal((await budget(...change, '--protocols', 'snmp,opcua')).code, 0)
  assert.deepEqual(stored(), {
    ...defaultBudget,
    perDevice: { ...defaultBudget.perDevice, requestsPerSecond: 5 },
    excludedAddresses: ['10.0.0.7'],
    hours: [{ from: '22:00', to: '05:00' }],
    protocols: ['snmp', 'opcua'],
  })
  await budget('--exclude', '10.0.8.0/24')
  assert.deepEqual(stored().excludedAddresses, ['10.0.0.7', '10.0.8.0/24'])
  await budget('--local-addresses', 'allow')
  assert.equal(stored().localAddresses, true)
  await budget('--local-addresses', 'refuse')
  assert.equal(stored().localAddresses, undefined)
  for (const [rule, multicast] of [
    ['deny', false],
    ['allow', true],
    ['default', undefined],
  ] as const) {
    await budget('--multicast', rule)
    assert.equal(stored().multicast, multicast)
  }
  assert.equal((await budget('--exclude', 'none', '--hours', 'all', '--protocols', 'all')).code, 0)
  assert.equal(stored().perDevice.requestsPerSecond, 5)
  assert.equal((await budget('--reset')).code, 0)
  assert.deepEqual(stored(), defaultBudget)
})

test('refuses a limit that does not exist, and values that are not valid, without a change', async () => {
  for (const [args, message] of [
    [['--set', 'perDevice.speed=5'], /"perDevice\.speed" is not a limit/],
    [
      ['--set', 'perDevice.requestsPerSecond=0'],
      /perDevice\.requestsPerSecond must be a whole number of at least 1, but is "0"/,
    ],
    [['--exclude', '10.0.0.300'], /"10\.0\.0\.300" is not an address range/],
    [
      ['--protocols', 'snmp,modbuss'],
      /Unknown protocol "modbuss" in --protocols\. Use one or more of (\S+, )*modbus, /,
    ],
    [['--multicast', 'sometimes'], /Allowed choices are allow, deny, default/],
    [['--hours', '22-5'], /"22-5" is not a span of hours/],
    [['--hours', '22:00-24:00'], /"22:00-24:00" is not a span of hours/],
    [['--hours', '10:00-10:00'], /"10:00-10:00" is not a span of hours/],
    [['--set', 'perDevice.connections=0.5'], /must be a whole number/],
  ] as const) {
    const { code, err } = await budget(...args)
    assert.equal(code, 2)
    assert.match(err, message)
  }
  assert.deepEqual(stored(), defaultBudget)
})

test('uses the gateway in the home of the platform, and reports when the folder contains no gateway', async () => {
  const platformHome = join(home, 'platform')
  const gatewayFolder = join(platformHome, 'gateway')
  mkdirSync(gatewayFolder, { recursive: true })
  writeFileSync(join(gatewayFolder, 'identity.json'), '{}')
  const { terminal, printed } = testTerminal({ environment: { MILLWRIGHT_HOME: platformHome } })
  assert.equal(await run(['gateway', 'budget', '--exclude', '10.0.0.9'], terminal), 0)
  assert.deepEqual(JSON.parse(readFileSync(join(gatewayFolder, 'budget.json'), 'utf8')).excludedAddresses, ['10.0.0.9'])
  assert.equal(printed.err, '')
  assert.match((await budget()).err, new RegExp(`There is no gateway in ${home}`))
})
