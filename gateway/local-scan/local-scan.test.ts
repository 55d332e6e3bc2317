import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { defaultBudget } from '@millwright/api/scan-budget.ts'
import { temporaryFolder } from '../testing.ts'
import { localScan } from './local-scan.ts'

const folder = temporaryFolder()
const linkNamed = (name: string) => ({ name, appInstanceId: `test.${name}`, file: join(folder, `${name}.mjs`) })

const programs = {
  crashing: `console.error('There is no network'); process.exit(3)`,
  waiting: `process.once('disconnect', () => process.exit(0)); process.channel.ref()`,
  noticing: `
    import { runLink } from '${new URL('../../link-sdk/run-link.ts', import.meta.url)}'
    const filters = [{ key: 'ip_range', type: 'text', description: 'Range' }]
    const manifest = { id: 'test.noticing', name: 'Noticing', vendor: 'Test', version: '1.0.0', sends: [], filters }
    const identifier = { asset_identifier_type: 'MacIdentifier', mac_address: '00:1B:1B:00:00:01' }
    async function* discover() {
      const connection_points = [{ connection_point_type: 'Ipv4Connectivity', id: 'a', ipv4_address: '10.0.0.9' }]
      yield { asset: { name: 'x', asset_identifiers: [identifier], connection_points }, address: { ip_address: '10.0.0.1' } }
    }
    await runLink({ manifest, discover, notices: async () => ['ICMP is not allowed'] })`,
}

describe('a scan without a platform', () => {
  before(() => {
    for (const [name, text] of Object.entries(programs)) writeFileSync(linkNamed(name).file, text)
  })

  const scanWith = (name: keyof typeof programs, signal = new AbortController().signal) =>
    localScan({
      links: [linkNamed(name)],
      ranges: ['10.0.0.1'],
      excluded: [],
      optionsFor: () => [],
      budget: defaultBudget,
      credentialsFor: () => [],
      signal,
    })

  test('names the reason why a link did not start', async () => {
    const { failures, receipt } = await scanWith('crashing')
    assert.deepEqual(
      failures.map(({ reason }) => reason),
      ['The link crashing did not start: The link ended with exit code 3: There is no network'],
    )
    assert.equal(receipt.state, 'failed')
  })

  test('ends when it was canceled before the links have started', async () => {
    const { failures, receipt } = await scanWith('waiting', AbortSignal.abort())
    assert.deepEqual([failures, receipt.state, receipt.totals], [[], 'canceled', {}])
  })

  test('returns the notices of the links, and the scanned address of each device', async () => {
    const { findings, notices, failures } = await scanWith('noticing')
    assert.deepEqual(failures, [])
    assert.deepEqual(
      notices.map(({ link, text }) => [link.name, text]),
      [['noticing', 'ICMP is not allowed']],
    )
    assert.deepEqual(
      findings.map(({ address, asset }) => [address, asset.name]),
      [['10.0.0.1', 'x']],
    )
  })
})
