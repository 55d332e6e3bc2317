import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { assetsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { switchValues } from './simulator-switch.ts'
import { scan } from './testing.ts'

test('the simulated agent runs as a process with the values of a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millwright-snmp-'))
  const file = join(folder, 'values.json')
  const values = switchValues({ name: 'core-1', mac: '00:1B:1B:10:00:00', ports: 2 })
  writeFileSync(file, JSON.stringify({ community: 'public', values }))
  const args = [join(import.meta.dirname, 'simulator.ts'), '--host', '127.0.46.1', '--port', '0', '--file', file]
  const agent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [line] = await once(agent.stdout, 'data')
    const port = Number(/listens on 127\.0\.46\.1:(\d+)/.exec(String(line))?.[1])
    const [asset] = assetsIn(await Array.fromAsync(scan('127.0.46.1', port)))
    assert.equal(asset?.name, 'core-1')
  } finally {
    agent.kill()
    await once(agent, 'exit')
    rmSync(folder, { recursive: true })
  }
})
