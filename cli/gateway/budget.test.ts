import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
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
  assert.equal((await budget('--exclude', 'none', '--hours', 'all', '--protocols', 'all')).code, 0)
  assert.equal(stored().perDevice.requestsPerSecond, 5)
  assert.equal((await budget('--reset')).code, 0)
  assert.deepEqual(stored(), defaultBudget)
})

test('refuses a limit that does not exist, and values that are not valid, without a change', async () => {
  for (const [args, message] of [
    [['--set', 'perDevice.speed=5'], /"perDevice\.speed" is not a limit/],
    [['--set', 'perDevice.requestsPerSecond=0'], /\/perDevice\/requestsPerSecond must be >= 1/],
    [['--exclude', '10.0.0.300'], /"10\.0\.0\.300" in excludedAddresses is not an address/],
    [
      ['--protocols', 'snmp,modbuss'],
      /Unknown protocol "modbuss" in --protocols\. Use one or more of dns, icmp, modbus, /,
    ],
    [['--hours', '22-5'], /"22-5" is not a span of hours/],
  ] as const) {
    const { code, err } = await budget(...args)
    assert.notEqual(code, 0)
    assert.match(err, message)
  }
  assert.deepEqual(stored(), defaultBudget)
})
