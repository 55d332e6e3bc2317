import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestCaller } from '@millwright/cloud/platform/testing/hub.ts'
import { TestPlatform } from '../testing.ts'
import { matchNote } from './rules.ts'

describe('inbox', () => {
  let platform: TestPlatform
  let admin: TestCaller

  before(async () => {
    platform = await TestPlatform.open()
    admin = await platform.as('administrator')
    await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-3' } } })
    for (const index of [1, 2, 3]) {
      const asset = {
        functional_object_type: 'Device',
        name: `Drive ${index}`,
        asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: `02:00:00:00:77:0${index}` }],
        connection_points: [{ connection_point_type: 'Ipv4Connectivity', ipv4_address: `10.3.0.${index}` }],
      }
      await admin.inventory.createAsset({ headers: { prefer: 'wait=30' }, body: { data: { asset } } })
    }
  })
  after(() => platform[Symbol.asyncDispose]())

  const run = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await platform.run(['inbox', ...args], { token: admin.token })
    assert.equal(code, 0, `${args.join(' ')}: ${out}${err}`)
    return out + err
  }

  test('lists and counts new assets, and shows why an asset is new', async () => {
    assert.match(await run('list', '--subnet', '10.3.0.0/24'), /Drive 3.*Drive 2.*Drive 1/s)
    assert.match(await run('list', '--subnet', '10.9.0.0/24'), /The inbox is empty/)
    assert.match(await run('facets'), /subnet +10\.3\.0\.0\/24 +3/)
    const shown = JSON.parse(await run('show', 'Drive 1', '--json'))
    assert.equal(shown.data.confidence, 'high')
  })

  test('a rule is created, previewed, paused and accepted, and its decision is undone', async () => {
    assert.match(await run('rules', 'preview', '--range', '10.3.0.1-10.3.0.2'), /Drive 1.*Drive 2/s)
    await run('rules', 'create', 'Hall 3', '--range', '10.3.0.1-10.3.0.2', '--group', 'hall-3')
    assert.match(await run('rules', 'list'), /Hall 3 +propose/)
    await run('rules', 'pause', 'Hall 3')
    assert.match(await run('rules', 'list'), /Hall 3 +paused/)
    await run('rules', 'resume', 'Hall 3')
    assert.match(await run('onboard', '--rule', 'Hall 3'), /2 assets changed.*millwright inbox undo/s)
    const [decision] = JSON.parse(await run('decisions', '--json')).data
    assert.match(await run('undo', decision.id), /2 assets changed/)
    assert.match(await run('rules', 'log', 'Hall 3'), /No entries/)
    await run('rules', 'delete', 'Hall 3', '--yes')
  })

  test('a preview reports a search that was stopped', () => {
    assert.equal(matchNote({ matched: 2, isComplete: true }), '2 new assets match')
    assert.match(matchNote({ matched: 2, isComplete: false }), /^At least 2 new assets match\. The search stopped/)
  })

  test('assets are ignored and returned, and a decision about an asset that is not new fails', async () => {
    assert.match(await run('ignore', 'Drive 3'), /1 asset changed/)
    assert.match(await run('list', '--ignored'), /Drive 3/)
    assert.match(await run('return', 'Drive 3'), /1 asset changed/)
    assert.match(await run('onboard', 'Drive 3', '--group', 'hall-3'), /1 asset changed/)
    const again = await platform.run(['inbox', 'ignore', 'Drive 3'], { token: admin.token })
    assert.notEqual(again.code, 0)
    assert.match(again.err, /management state of the asset is now regarded/)
    const wrong = await platform.run(['inbox', 'onboard'], { token: admin.token })
    assert.equal(wrong.code, 2)
  })
})
