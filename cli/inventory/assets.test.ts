import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { enrolledGateway, foundDevice, linkReport, runScan } from '@millwright/cloud/platform/testing/gateway.ts'
import { type RunOptions, TestPlatform } from '../testing.ts'

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
  await succeed('access', 'groups', 'create', 'line-1')
  for (const [name, number] of [
    ['Rack 1', '01'],
    ['Module A', '02'],
    ['Module B', '03'],
  ] as const) {
    await succeed(
      'assets',
      'create',
      '--name',
      name,
      '--mac',
      `00-1B-1B-00-00-${number}`,
      '--ip',
      `192.0.2.${Number(number)}`,
    )
  }
  await succeed('relations', 'add', 'Module A', 'is_module_of', 'Rack 1')
  await succeed('relations', 'add', 'Module B', 'is_module_of', 'Rack 1')
})

after(() => platform[Symbol.asyncDispose]())

async function succeed(...args: string[]): Promise<string> {
  const { code, out, err } = await platform.run(args, { token })
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

const refuse = async (args: string[], options: RunOptions = {}) => platform.run(args, { token, ...options })

/** Replaces values that differ in every run, so that the output can be compared. */
const steady = (text: string) =>
  text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>').replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>')

describe('assets', () => {
  test('assets list prints JSON, NDJSON or a table that fits the terminal', async () => {
    const { out, err } = await platform.run(['assets', 'list', '--sort', 'name', '--limit', '2'], {
      token,
      columns: 100,
    })
    assert.equal(
      steady(out),
      [
        'ID                                    NAME      TYPE    VENDOR  PRODUCT  ADDRESS    STATE  GROUP',
        '<id>  Module A  Device                   192.0.2.2  New    default',
        '<id>  Module B  Device                   192.0.2.3  New    default',
        '',
      ].join('\n'),
    )
    assert.equal(err, '2 of 3 shown. To show all, pass --all.\n')
    const json = JSON.parse(await succeed('assets', 'list', '--sort', 'name', '--json', '--fields', 'name'))
    assert.deepEqual(json.data, [{ name: 'Module A' }, { name: 'Module B' }, { name: 'Rack 1' }])
    assert.equal(json.meta.totalElements, 3)
    const lines = (await succeed('assets', 'list', '--all', '--ndjson', '--fields', 'name', '--sort', '-name')).trim()
    assert.deepEqual(
      lines.split('\n').map((line) => JSON.parse(line).name),
      ['Rack 1', 'Module B', 'Module A'],
    )
    assert.equal(JSON.parse(await succeed('assets', 'list', '--all', '--json')).data.length, 3)
    assert.ok(!`${out}${lines}`.includes('\u001b'))
  })

  test('assets list and count select by filter, relation and full text, and list shows the requested columns', async () => {
    const names = async (...args: string[]) =>
      (await succeed('assets', 'list', '--columns', 'name', '--sort', 'name', ...args)).trim().split('\n').slice(1)
    assert.deepEqual(await names('--filter', "name eq 'Rack 1'"), ['Rack 1'])
    assert.deepEqual(await names('--filter', "name eq 'rack 1'", '--ignore-case'), ['Rack 1'])
    assert.deepEqual(await names('-q', 'module'), ['Module A', 'Module B'])
    assert.deepEqual(await names('--relations-filter', "predicate eq 'is_module_of'"), [
      'Module A',
      'Module B',
      'Rack 1',
    ])
    assert.equal(await succeed('assets', 'count', '-q', 'module'), '2\n')
    assert.match(await succeed('assets', 'count', '--by', 'functional_object_type'), /^3 +Device$/m)
    assert.match(
      await succeed('assets', 'list', '--columns', 'name,vendor, connection_points/ipv4_address,firmware_version'),
      /^NAME +VENDOR +IPV4_ADDRESS +FIRMWARE_VERSION$/m,
    )
    const none = await refuse(['assets', 'list', '-q', 'nothing'])
    assert.deepEqual([none.code, none.out, none.err], [0, '', 'No asset matches.\n'])
    const wrong = await refuse(['assets', 'list', '--filter', "nmae eq 'x'"])
    assert.deepEqual([wrong.code, wrong.out], [2, ''])
    assert.match(wrong.err, /\(unknown_property\)\nNext: see docs\/reference\/filters\.md for all properties\n$/)
  })

  test('assets list exits with 2 when --columns or --fields contains an unknown property', async () => {
    const unknown = [
      'nmae',
      '',
      'name/first',
      'connection_points/ipv5_address',
      'constructor',
      'management_state/value',
    ]
    for (const option of ['--columns', '--fields']) {
      for (const name of unknown) {
        const { code, out, err } = await refuse(['assets', 'list', option, `name,${name}`])
        assert.deepEqual([code, out], [2, ''], `${option} ${name}`)
        assert.ok(err.startsWith(`${option}: assets have no property "${name}".\nNext: Use access_group, `), err)
        assert.equal(err.includes(' firmware_version,'), option === '--columns', 'only columns have headings')
        assert.ok(!err.includes('asset_identifiers'), 'lists do not contain identifiers')
      }
    }
    const { code, err } = await refuse(['assets', 'list', '--columns', 'name,asset_identifiers/value'])
    assert.equal(code, 2)
    assert.equal(
      err,
      '--columns: lists of assets do not contain asset_identifiers.\nNext: Use millwright assets identifiers <asset>\n',
    )
    const url = 'https://example.com/schemas/oven.json'
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      properties: { oven: { $ref: '#/$defs/oven' } },
    }
    const $defs = { oven: { type: 'object', properties: { zones: { type: 'integer' } } } }
    const admin = await platform.hub.as('administrator')
    await admin.inventory.createSchema({ body: { data: { url, schema: { ...schema, type: 'object', $defs } } } })
    assert.match(await succeed('assets', 'list', '--columns', 'name,oven/zones'), /^NAME +ZONES$/m)
  })

  test('assets show prints an asset by name, and exits with 4 for an unknown name or a time before its creation', async () => {
    assert.match(await succeed('assets', 'show', 'Rack 1'), /^name +Rack 1$/m)
    const early = await refuse(['assets', 'show', 'Rack 1', '--at', '2020-01-01T00:00:00Z'])
    assert.equal(early.code, 4)
    const missing = await refuse(['assets', 'show', 'Rack 2'])
    assert.equal(missing.code, 4)
    assert.equal(missing.err, 'Asset "Rack 2" not found.\nNext: millwright assets list -q "Rack 2"\n')
    assert.match(await succeed('assets', 'identifiers', 'Rack 1'), /^MacIdentifier +\d* +mac_address=/m)
  })

  test('assets sources lists the link of each field, and the values of other links that are not used', async () => {
    const { hub } = platform
    const admin = await platform.as('administrator')
    const gateway = await enrolledGateway(hub, admin)
    const links = ['snmp', 'ip-scan'].map((name) =>
      linkReport({ appInstanceId: name, deviceClass: `millwright.links.${name}`, options: [] }),
    )
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links } } })
    for (const [assetLinkId, name] of [
      ['snmp', 'core-1'],
      ['ip-scan', 'core-1.plant.example'],
    ] as const) {
      const input = { params: { gatewayId: gateway.id }, body: { data: { assetLinkId } } }
      const { jobId } = await admin.discovery.createDiscovery(input)
      await runScan({ hub, admin, gateway, jobId, assets: [foundDevice(77, { name })] })
    }
    const out = await succeed('assets', 'sources', 'core-1')
    assert.match(out, /^\/name +millwright\.links\.snmp +\S+ +core-1\.plant\.example \(millwright\.links\.ip-scan\)$/m)
    assert.match((await refuse(['assets', 'sources', 'Rack 1'])).err, /No sources\. Only assets that scans found/)
  })

  test('assets update changes fields and custom properties, and assets history lists the changes', async () => {
    await succeed('properties', 'create', 'Cost centre')
    await succeed(
      'assets',
      'update',
      'Module A',
      '--set',
      'description=left',
      '--responsible',
      'jane',
      '--firmware',
      'V2',
      '--property',
      'Cost centre=4711',
    )
    const shown = JSON.parse(await succeed('assets', 'show', 'Module A', '--json')).data
    assert.deepEqual([shown.description, shown.responsible], ['left', 'jane'])
    assert.match(JSON.stringify(shown), /V2.*4711|4711.*V2/)
    assert.match(await succeed('assets', 'history', 'Module A'), /^\d+ +\S+ +updated +\S+ +manual +description/m)
    await succeed('assets', 'update', 'Module A', '--set', 'description=null', '--property', 'Cost centre=')
    assert.doesNotMatch(await succeed('assets', 'show', 'Module A'), /left|4711/)
    assert.equal((await refuse(['assets', 'update', 'Module A'])).code, 2)
    assert.equal((await refuse(['assets', 'update', 'Module A', '--property', 'nothing=1'])).code, 4)
  })

  test('assets onboard, ignore and restore accept a name or a filter, and a filter needs a confirmation', async () => {
    assert.equal(await succeed('assets', 'onboard', 'Module A', 'Module B'), '2 updated\n')
    assert.equal(await succeed('assets', 'onboard', 'Module A'), '1 unchanged\n')
    assert.match(await succeed('assets', 'list', '-q', 'module'), / Onboarded +default$/m)
    assert.match(await succeed('assets', 'count', '--by', 'management_state/state_value'), /^2 +Onboarded$/m)
    const unconfirmed = await refuse(['assets', 'ignore', '-q', 'module'])
    assert.deepEqual(
      [unconfirmed.code, unconfirmed.err],
      [
        2,
        'Change 2 assets? The command cannot ask, because standard input is not a terminal.\nNext: pass --yes to confirm\n',
      ],
    )
    assert.equal(
      (await refuse(['assets', 'ignore', '-q', 'module'], { answers: ['n'] })).err,
      'Change 2 assets? [y/N] Nothing was changed.\n',
    )
    assert.equal((await refuse(['assets', 'ignore', '-q', 'module'], { answers: ['y'] })).out, '2 updated\n')
    assert.equal(await succeed('assets', 'restore', '-q', 'module', '--yes'), '2 updated\n')
    assert.equal((await refuse(['assets', 'ignore'])).code, 2, 'a change of all assets needs a selection')
  })

  test('assets move changes the access group, and exits with 4 for an unknown group', async () => {
    assert.equal(await succeed('assets', 'move', 'Module B', '--to', 'line-1'), '1 updated\n')
    assert.match(await succeed('assets', 'show', 'Module B'), /^access_group +line-1$/m)
    const nowhere = await refuse(['assets', 'move', 'Module B', '--to', 'line-9'])
    assert.equal(nowhere.code, 4)
    assert.match(nowhere.err, /\(access_group_not_found\)\nNext: millwright access groups list\n$/)
    await succeed('assets', 'move', 'Module B', '--to', 'default')
  })

  test('assets create --file reads one or more assets and reports a result for each', async () => {
    const identifiers = (mac: string) => [{ asset_identifier_type: 'MacIdentifier', mac_address: mac }]
    const asset = (name: string, mac: string) => ({
      functional_object_type: 'Device',
      name,
      asset_identifiers: identifiers(mac),
    })
    const lines = [asset('Pump 1', '00-1B-1B-00-01-01'), asset('Pump 2', '00-1B-1B-00-01-02')]
    const input = lines.map((line) => JSON.stringify(line)).join('\n')
    assert.equal((await refuse(['assets', 'create', '--file', '-'], { input })).out, '2 created\n')
    const file = join(platform.folder, 'assets.json')
    writeFileSync(file, JSON.stringify({ data: lines }))
    assert.equal(await succeed('assets', 'create', '--file', file), '2 unchanged\n')
    const broken = [asset('Pump 3', '00-1B-1B-00-01-03'), { ...asset('Pump 4', 'x'), nonsense: 1 }]
    const partly = await refuse(['assets', 'create', '--file', '-'], {
      input: broken.map((line) => JSON.stringify(line)).join('\n'),
    })
    assert.equal(partly.code, 1)
    assert.equal(partly.out, '1 created, 1 failed\n')
    assert.match(partly.err, /^2: .*\(invalid_asset\)/m)
    assert.match(
      (await refuse(['assets', 'create', '--file', '-'], { input: 'x' })).err,
      /^Standard input, line 1, is not valid JSON/,
    )
    assert.equal((await refuse(['assets', 'create', '--name', 'x'])).code, 2)
  })

  test('assets delete needs a confirmation', async () => {
    assert.equal((await refuse(['assets', 'delete', 'Pump 1'])).code, 2)
    assert.equal(await succeed('assets', 'delete', '-q', 'pump', '--yes'), '3 deleted\n')
  })
})

describe('relations', () => {
  test('relations list, graph and path show the relations of assets', async () => {
    const related = await succeed('relations', 'list', '--asset', 'Rack 1')
    assert.equal(related.trim().split('\n').length, 3)
    assert.match(related, /^\S+ {2}Module A {2}is_module_of {2}Rack 1 /m)
    assert.match(await succeed('relations', 'predicates'), /^2 +is_module_of$/m)
    assert.equal(
      await succeed('graph', 'Rack 1'),
      'Rack 1  (Device)\n├─ is_module_of ← Module A  (Device)\n└─ is_module_of ← Module B  (Device)\n',
    )
    assert.match(await succeed('graph', 'Rack 1', '--dot'), /^digraph plant \{/)
    assert.match(await succeed('graph', 'Rack 1', '--mermaid'), /^flowchart LR/)
    assert.equal(JSON.parse(await succeed('graph', 'Rack 1', '--json')).data.nodes.length, 3)
    assert.equal(
      await succeed('path', 'Module A', 'Module B'),
      'Module A\n  ─ is_module_of → Rack 1\n  ← is_module_of ─ Module B\n',
    )
  })

  test('relations delete accepts an id or a filter, and relations history lists the deletion', async () => {
    const [made] = JSON.parse(
      await succeed('relations', 'add', 'Module A', 'is_beside', 'Module B', '--both-ways', '--json'),
    ).data
    assert.equal(await succeed('relations', 'delete', made.id, '--yes'), '1 deleted\n')
    assert.equal(
      await succeed(
        'relations',
        'delete',
        '--filter',
        `subject.id eq '${made.object.id}' and predicate eq 'is_beside'`,
        '--yes',
      ),
      '1 deleted\n',
    )
    const past = (await succeed('relations', 'history', 'Module A')).trim().split('\n')
    assert.equal(past.length, 6)
    assert.match(past[1] ?? '', / deleted .* Module B +is_beside +Module A /)
    const alone = await refuse(['path', 'Module A', 'Rack 1', '--predicates', 'is_beside'])
    assert.equal(alone.code, 4)
  })

  test('relations add --file reads relations by asset name or as listed, and reports a result for each', async () => {
    const lines = [
      { subject: 'Module A', predicate: 'is_wired_to', object: 'Module B', isBidirectional: true },
      { subject: 'Module A', predicate: 'is_in', object: 'node:0198f0c2-7b1e-7c3a-9d55-0242ac120002' },
      { subject: 'Nobody', predicate: 'is_wired_to', object: 'Module B' },
      { subject: 'Module A', predicate: '', object: 'Module B' },
      { subject: 'Module A', predicate: 'is_running_on', object: 'Module B' },
    ]
    const input = lines.map((line) => JSON.stringify(line)).join('\n')
    const partly = await refuse(['relations', 'add', '--file', '-'], { input })
    assert.equal(partly.code, 1)
    assert.equal(partly.out, '2 created, 3 failed\n')
    assert.match(partly.err, /^3: .*Asset "Nobody" not found/m)
    assert.match(partly.err, /^4: .*\/predicate .*\(invalid_body\)$/m)
    assert.match(partly.err, /^5: .*\(system_managed_predicate\)$/m)

    const filter = `predicate in ('is_wired_to', 'is_in')`
    const file = join(platform.folder, 'wiring.ndjson')
    writeFileSync(file, await succeed('relations', 'list', '--filter', filter, '--all', '--ndjson'))
    assert.equal(await succeed('relations', 'add', '--file', file), '3 refreshed\n')
    assert.equal((await refuse(['relations', 'add', 'Module A'])).code, 2)
    const missing = await refuse(['relations', 'add', '--file', join(platform.folder, 'nowhere.ndjson')])
    assert.deepEqual([missing.code, /nowhere\.ndjson cannot be read \(ENOENT\)\.$/m.test(missing.err)], [2, true])
    const broken = await refuse(['relations', 'add', '--file', '-'], { input: `\n{"subject":` })
    assert.deepEqual([broken.code, /^Standard input, line 2, is not valid JSON: /m.test(broken.err)], [2, true])
    assert.equal((await refuse(['relations', 'add', 'Module A', 'x', 'Module B', '--file', file])).code, 2)
    assert.equal(await succeed('relations', 'delete', '--filter', filter, '--yes'), '3 deleted\n')
  })
})

test('assets onboard exits with 3 and names the missing permission for a viewer', async () => {
  const { token: viewer } = await platform.as('viewer')
  const denied = await platform.run(['assets', 'onboard', 'Rack 1'], { token: viewer })
  assert.equal(denied.code, 3)
  assert.match(
    denied.err,
    /^Permission denied: requires `inventory_write_asset_data` \(forbidden\)\nNext: see your permissions with millwright whoami/,
  )
  const why = await platform.run(['access', 'why', 'inventory_write_asset_data'], { token: viewer })
  assert.match(why.out, /^No: /)
})
