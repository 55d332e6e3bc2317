import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { run } from '../program/program.ts'
import { testTerminal } from '../testing.ts'

const home = mkdtempSync(join(tmpdir(), 'remote-access-'))
after(() => rmSync(home, { recursive: true, force: true }))

async function remoteAccess(...args: string[]) {
  const { terminal, printed } = testTerminal({})
  const code = await run(['gateway', 'remote-access', '--home', home, ...args], terminal)
  return { code, ...printed }
}
const stored = () => JSON.parse(readFileSync(join(home, 'remote-access.json'), 'utf8')).remoteAccess

test('shows the default rules for remote sessions, changes them, and restores the defaults', async () => {
  assert.deepEqual(JSON.parse((await remoteAccess('--json')).out).data, { isEnabled: true, loopback: false })
  await remoteAccess('--allow', '10.0.0.0/24=22,443', '--allow', 'fd00::/64=22')
  await remoteAccess('--allow', '10.0.0.0/24=80', '--loopback', 'allow', '--turn', 'off')
  assert.deepEqual(stored(), {
    isEnabled: false,
    loopback: true,
    allow: [
      { network: 'fd00::/64', ports: [22] },
      { network: '10.0.0.0/24', ports: [80] },
    ],
  })
  await remoteAccess('--allow', 'none', '--turn', 'on', '--loopback', 'refuse')
  assert.deepEqual(stored(), { isEnabled: true, loopback: false, allow: [] })
  await remoteAccess('--allow', 'found')
  assert.deepEqual(stored(), { isEnabled: true, loopback: false })
  await remoteAccess('--turn', 'off')
  assert.equal((await remoteAccess('--reset')).code, 0)
  assert.deepEqual(stored(), { isEnabled: true, loopback: false })
})

test('refuses networks and ports that are not valid, without a change', async () => {
  for (const [args, message] of [
    [['--allow', 'plc.example.com=22'], /"plc\.example\.com" is not a network/],
    [['--allow', '10.0.0.0/40=22'], /"10\.0\.0\.0\/40" is not a network/],
    [['--allow', '10.0.0.0/8'], /--allow/],
    [['--allow', '10.0.0.0/8=0'], /"0" in --allow 10\.0\.0\.0\/8=0 is not a port/],
    [['--allow', '10.0.0.0/8=22,ssh'], /"ssh" in --allow .* is not a port/],
    [['--allow', '10.0.0.0/8=70000'], /"70000" in --allow .* is not a port/],
    [['--allow', 'found', '--allow', '10.0.0.0/8=22'], /cannot be combined/],
    [['--turn', 'maybe'], /--turn/],
  ] as const) {
    const { code, err } = await remoteAccess(...args)
    assert.equal(code, 2, args.join(' '))
    assert.match(err, message)
  }
  assert.deepEqual(stored(), { isEnabled: true, loopback: false })
})
