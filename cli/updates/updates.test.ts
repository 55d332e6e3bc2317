import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type RunResult, TestPlatform } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'millwright-updates-'))
const inFolder = (name: string) => join(folder, name)

describe('updates', () => {
  let platform: TestPlatform
  let run: (...args: string[]) => Promise<RunResult>

  before(async () => {
    platform = await TestPlatform.open()
    const { token } = await platform.as('administrator')
    run = (...args) => platform.run(args, { token })
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await platform[Symbol.asyncDispose]()
  })

  const content = randomBytes(9 * 1024 * 1024)
  const product = ['--manufacturer', 'Acme', '--product', 'PX 100']

  test('an artefact is uploaded in parts, and downloaded with the same content', async () => {
    writeFileSync(inFolder('fw.bin'), content)
    const uploaded = await run('updates', 'upload', inFolder('fw.bin'), ...product, '--version', '2.1', '--json')
    assert.equal(uploaded.code, 0, uploaded.err)
    const { data } = JSON.parse(uploaded.out)
    assert.equal(data.sha256, createHash('sha256').update(content).digest('hex'))
    assert.equal(data.content.state, 'complete')
    const saved = await run('updates', 'artefacts', 'download', 'fw.bin', '--output', inFolder('copy.bin'))
    assert.equal(saved.code, 0, saved.err)
    assert.ok(readFileSync(inFolder('copy.bin')).equals(content))
  })

  test('a repeated upload of the same file changes nothing', async () => {
    const again = await run('updates', 'upload', inFolder('fw.bin'), ...product, '--version', '2.1')
    assert.equal(again.code, 0, again.err)
    const listed = await run('updates', 'artefacts', 'list', '--ndjson')
    assert.equal(listed.out.trim().split('\n').length, 1)
  })

  test('the command explains why an unsigned artefact cannot be installed', async () => {
    const again = await run('updates', 'upload', inFolder('fw.bin'), ...product, '--version', '2.1')
    assert.match(again.err, /signature/i)
    const asset = await run('assets', 'create', '--name', 'Drive 12', '--mac', '00-1B-1B-00-00-12')
    assert.equal(asset.code, 0, asset.err)
    const refused = await run('updates', 'install', 'fw.bin', '--asset', 'Drive 12', '--yes')
    assert.notEqual(refused.code, 0)
    assert.match(refused.err, /signature/i)
  })

  test('an installation without a possible device is refused with the reason, and leaves no draft', async () => {
    assert.equal((await run('updates', 'settings', '--unsigned', 'allow')).code, 0)
    const refused = await run('updates', 'install', 'fw.bin', '--asset', 'Drive 12', '--yes')
    assert.equal(refused.code, 1)
    assert.match(refused.err, /No device can be updated/)
    assert.match(refused.out, /1 target: 0 to update/)
    assert.equal((await run('updates', 'campaigns', '--ndjson')).out.trim(), '')
  })

  test('a draft is planned and deleted', async () => {
    const options = ['--asset', 'Drive 12', '--name', 'Drives', '--wave', '1', '--wave', '50%', '--stop-at', '5%']
    const created = await run('updates', 'create', 'fw.bin@2.1', ...options, '--json')
    assert.equal(created.code, 0, created.err)
    const { data } = JSON.parse(created.out)
    assert.deepEqual(data.waves, [{ count: 1 }, { percent: 50 }])
    assert.equal(data.stopOnFailurePercent, 5)
    const planned = await run('updates', 'plan', 'Drives')
    assert.equal(planned.code, 0, planned.err)
    assert.match(planned.out, /Drive 12/)
    assert.equal((await run('updates', 'delete', 'Drives', '--yes')).code, 0)
  })

  test('wrong options are refused before a request', async () => {
    const both = await run('updates', 'create', 'fw.bin', '--asset', 'Drive 12', '--filter', "name eq 'x'")
    assert.equal(both.code, 2)
    assert.match(both.err, /cannot be combined/)
    const none = await run('updates', 'create', 'fw.bin')
    assert.match(none.err, /targets are missing/)
    const window = await run('updates', 'create', 'fw.bin', '--asset', 'Drive 12', '--window', '0 22 * * 6')
    assert.match(window.err, /must be used together/)
    const wave = await run('updates', 'create', 'fw.bin', '--asset', 'Drive 12', '--wave', '0%')
    assert.match(wave.err, /above 0/)
    const file = await run('updates', 'upload', inFolder('missing'), ...product, '--version', '1')
    assert.match(file.err, /cannot be read/)
  })
})
