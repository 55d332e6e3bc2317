import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { read, resultsOf } from './testing.ts'

/**
 * Starts the server of python-snap7. Version 2 contains the Snap7 library in C++, which returns lists of a real CPU. Version
 * 3 is written in Python, and its list 0x001C has no header.
 */
const server = `
import signal, socket, snap7
from importlib.metadata import version
from snap7.server import Server

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
server = Server(log=False)
server.start(tcp_port=port)
print(version("python-snap7"), port, flush=True)
signal.pause()
`

test('the independent server of python-snap7 is identified', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'millwright-s7-'))
  const script = join(folder, 'server.py')
  await writeFile(script, server)
  const python = process.env.MILLWRIGHT_TEST_PYTHON ?? 'python3'
  const child = spawn(python, [script], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'close').catch(() => undefined)
  child.on('error', () => undefined)
  try {
    const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), exited.then(() => [undefined])])
    if (line === undefined) return t.skip('python-snap7 is not installed')
    const [version = '', port = ''] = String(line).split(' ')
    t.diagnostic(`python-snap7 ${version}`)
    const results = await resultsOf({ range: '127.0.0.1', options: { ports: port } })
    assert.deepEqual(errorsIn(results), [])
    const [asset] = assetsIn(results)
    assert.match(JSON.stringify(asset?.product_instance_information), /"Siemens".*"6ES7 315-2EH14-0AB0"/)
    const { s7 } = await read({ address: { ip_address: '127.0.0.1', port: Number(port) } })
    const values = s7 as Record<string, unknown>
    assert.equal(values.order_number, '6ES7 315-2EH14-0AB0')
    if (Number.parseInt(version, 10) >= 3) return
    assert.match(JSON.stringify(asset?.asset_identifiers), /"6ES7 315-2EH14-0AB0","serial_number":"C-C2UR28922012"/)
    assert.equal(values.serial_number, 'S C-C2UR28922012')
    assert.equal(values.module_type, 'CPU 315-2 PN/DP')
    assert.match(String(values.firmware_version), /^V\d+\.\d+\.\d+$/)
    assert.equal(values.operating_mode, 'run')
  } finally {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true, force: true })
  }
})
