import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@millwright/gateway/testing.ts'
import { run } from '../program/program.ts'
import { testTerminal } from '../testing.ts'

async function links(home: string, ...args: string[]) {
  const { terminal, printed } = testTerminal({ environment: { MILLWRIGHT_GATEWAY_LINKS: 'plant' } })
  const code = await run(['gateway', 'links', ...args, '--home', home], terminal)
  return { code, ...printed }
}

test('millwright gateway links enable and disable store the change, and list shows it', async () => {
  const home = temporaryFolder()
  assert.match((await links(home, 'list')).out, /^plant +yes +stopped +0/m)
  const { code, out, err } = await links(home, 'disable', 'plant')
  assert.equal(code, 0)
  assert.match(out, /^plant +no +stopped/m)
  assert.match(err, /applies when it starts/)
  assert.deepEqual(JSON.parse(readFileSync(join(home, 'links.json'), 'utf8')), { links: { plant: false } })
  const { data } = JSON.parse((await links(home, 'enable', 'plant', 'snmp', '--json')).out)
  assert.deepEqual(
    data.map(({ name, enabled }: { name: string; enabled: boolean }) => [name, enabled]),
    [
      ['plant', true],
      ['snmp', true],
    ],
  )
  const unknown = await links(home, 'enable', 'oven')
  assert.deepEqual([unknown.code, /"oven" is not a built-in link/.test(unknown.err)], [4, true])
  writeFileSync(join(home, 'links.json'), '{')
  assert.match((await links(home, 'list')).err, /links\.json in .* is not valid/)
})

test('millwright gateway links list shows the state, problem and notices of the running gateway, and logs the log', async () => {
  const home = temporaryFolder()
  mkdirSync(join(home, 'links'))
  const link = { name: 'plant', appInstanceId: 'x', enabled: true, state: 'failed', restarts: 2 }
  const remarks = { problem: 'The link ended with exit code 3', notices: ['ICMP is not allowed'] }
  const state = { processId: process.pid, links: [{ ...link, ...remarks }] }
  writeFileSync(join(home, 'links', 'state.json'), JSON.stringify(state))
  const entry = { time: '2026-01-31T00:00:00.000Z', level: 'warn', message: 'No network' }
  writeFileSync(join(home, 'links', 'plant.log'), `first\n${JSON.stringify(entry)}\n`)
  const { out, err } = await links(home, 'list')
  assert.match(out, /^plant +yes +failed +2 +The link ended with exit code 3 · ICMP is not allowed/m)
  assert.equal(err, '')
  assert.equal((await links(home, 'logs', 'plant', '--lines', '1')).out, '2026-01-31T00:00:00.000Z warn No network\n')
  assert.equal((await links(home, 'logs', 'plant', '--lines', 'x')).code, 2)
})

test('millwright gateway links enable fails when the running gateway does not apply the change', async () => {
  const home = temporaryFolder()
  mkdirSync(join(home, 'links'))
  const link = { name: 'plant', appInstanceId: 'x', enabled: false, state: 'stopped', restarts: 0 }
  writeFileSync(join(home, 'links', 'state.json'), JSON.stringify({ processId: process.pid, links: [link] }))
  const { code, err } = await links(home, 'enable', 'plant')
  assert.deepEqual([code, /has not applied the change/.test(err)], [1, true])
})
