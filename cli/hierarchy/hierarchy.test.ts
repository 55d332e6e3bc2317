import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { until } from '@millwright/cloud/platform/access/testing.ts'
import { createCaller } from '@millwright/cloud/platform/testing/caller.ts'
import { type RunOptions, TestPlatform } from '../testing.ts'

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
  for (const [name, number] of [
    ['Drive 1', '01'],
    ['Drive 2', '02'],
    ['Pump 1', '03'],
  ] as const) {
    await succeed('assets', 'create', '--name', name, '--mac', `00-1B-1B-00-00-${number}`, '--ip', `10.0.4.${number}`)
  }
})

after(() => platform[Symbol.asyncDispose]())

async function succeed(...args: string[]): Promise<string> {
  const { code, out, err } = await platform.run(args, { token })
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out.trimEnd()
}

/** Runs a subcommand of `hierarchy` and expects success. */
const hierarchy = (...args: string[]) => succeed('hierarchy', ...args)

const run = (args: string[], options: RunOptions = {}) => platform.run(['hierarchy', ...args], { token, ...options })

const linesOf = (text: string) => text.split('\n').slice(1)

describe('hierarchies and nodes', () => {
  test('a node command exits with 4 without a hierarchy, and hierarchy create prints the id', async () => {
    const missing = await run(['node', 'create', 'Site 1'])
    assert.deepEqual(
      [missing.code, missing.err],
      [4, 'There is no hierarchy yet.\nNext: create one: millwright hierarchy create Plant --template plant\n'],
    )
    assert.match((await run(['list'])).err, /^No hierarchies yet: /)
    const id = await hierarchy('create', 'Plant', '--template', 'plant', '--description', 'by location')
    assert.match(id, /^[0-9a-f-]{36}$/)
    const shown = await hierarchy('show', 'Plant')
    assert.match(shown, /^template +plant$/m)
    assert.match(shown, /^levels +site, building, line, cell$/m)
    assert.equal(JSON.parse(await hierarchy('show', id, '--json')).data.description, 'by location')
    const twice = await run(['create', 'Plant'])
    assert.deepEqual([twice.code, /\(already_exists\)/.test(twice.err)], [5, true])
    assert.equal((await run(['create', 'Other', '--template', 'ships'])).code, 2)
  })

  test('hierarchy node create places nodes by path, and hierarchy tree prints them indented', async () => {
    await hierarchy('node', 'create', 'Site 1')
    await hierarchy('node', 'create', 'Hall B', '--parent', 'Site 1', '--property', 'Cost centre=4711')
    await hierarchy('node', 'create', 'Hall A/1', '--parent', 'Site 1', '--position', '0')
    await hierarchy('node', 'create', 'Line 1', '--parent', 'Site 1/Hall A\\/1', '--type', 'line')
    assert.equal(
      await hierarchy('tree', 'Plant'),
      [
        'NODE        TYPE      CHILDREN  ASSETS  ONLINE  OFFLINE  UNKNOWN',
        'Site 1      site      2         0       0       0        0',
        '  Hall A/1  building  1         0       0       0        0',
        '    Line 1  line      0         0       0       0        0',
        '  Hall B    building  0         0       0       0        0',
      ].join('\n'),
    )
    const names = async (...args: string[]) =>
      linesOf(await hierarchy('tree', 'Plant', ...args)).map((line) => line.split(/(?<=\S) {2,}/)[0])
    assert.deepEqual(await names('--depth', '1'), ['Site 1'])
    assert.deepEqual(await names('Site 1', '--depth', '2'), ['Site 1', '  Hall A/1', '    Line 1', '  Hall B'])
    assert.deepEqual(await names('Site 1/Hall A\\/1'), ['Hall A/1', '  Line 1'])
    const nodes = JSON.parse(await hierarchy('tree', 'Plant', 'Site 1', '--depth', '1', '--json')).data
    assert.deepEqual(
      nodes.map(({ name }: { name: string }) => name),
      ['Site 1', 'Hall A/1', 'Hall B'],
    )
    const wrong = await run(['node', 'create', 'Site 2', '--type', 'ship'])
    assert.deepEqual([wrong.code, /\(invalid_node_type\)/.test(wrong.err)], [2, true])
    const missing = await run(['node', 'create', 'x', '--parent', 'Site 1/Hall C'])
    assert.deepEqual([missing.code, missing.err.split('\n')[0]], [4, 'Node "Site 1/Hall C" not found.'])
  })

  test('a node path needs --hierarchy when there are several hierarchies', async () => {
    await hierarchy('create', 'Functions')
    const several = await run(['node', 'show', 'Site 1'])
    assert.deepEqual(
      [several.code, several.err],
      [2, 'There are several hierarchies: Functions, Plant.\nNext: select one with --hierarchy\n'],
    )
    assert.match(await hierarchy('node', 'show', 'Site 1', '--hierarchy', 'Plant'), /^name +Site 1$/m)
    const cooling = await hierarchy('node', 'create', 'Pumps', '--hierarchy', 'Functions')
    const below = await hierarchy('node', 'create', 'Pump 1', '--parent', cooling)
    assert.equal(await hierarchy('node', 'path', below), 'Pumps/Pump 1')
    await hierarchy('node', 'delete', cooling, '--recursive', '--yes')
    await hierarchy('rename', 'Functions', 'Cooling')
    assert.match(await hierarchy('list'), / Cooling /)
    assert.match(await hierarchy('delete', 'Cooling'), / deleted, 0 nodes in total$/)
    assert.equal((await run(['show', 'Cooling'])).code, 4)
  })

  test('an ambiguous path exits with 2 and lists the ids', async () => {
    await hierarchy('node', 'create', 'Hall B', '--parent', 'Site 1')
    const ambiguous = await run(['node', 'show', 'Site 1/Hall B'])
    assert.equal(ambiguous.code, 2)
    const [id = ''] = /[0-9a-f-]{36}/.exec(ambiguous.err) ?? []
    assert.match(ambiguous.err, /^Node "Site 1\/Hall B" is ambiguous: /)
    await hierarchy('node', 'update', id, '--name', 'Hall C')
    assert.equal(await hierarchy('node', 'path', id), 'Site 1/Hall C')
  })

  test('hierarchy node update changes the named properties and keeps the others', async () => {
    const [id = ''] = /[0-9a-f-]{36}/.exec(await hierarchy('search', 'hall b')) ?? []
    await hierarchy('node', 'update', id, '--property', 'Owner=Jane', '--property', 'Cost centre=4712')
    const read = async () => JSON.parse(await hierarchy('node', 'show', id, '--json')).data
    const properties = (await read()).properties
    await hierarchy('node', 'update', id, '--property', 'Owner=', '--name', 'Hall D')
    const after = await read()
    assert.deepEqual([after.name, after.type], ['Hall D', 'building'])
    assert.ok(!('Owner' in after.properties), JSON.stringify({ properties, after: after.properties }))
    assert.equal(after.properties['Cost centre'], '4712')
    assert.equal((await run(['node', 'update', id])).code, 2)
  })

  test('hierarchy node update exits with 5 when another request changes the node meanwhile', async (t) => {
    const { hierarchy: client } = await platform.as('administrator')
    const id = await hierarchy('node', 'create', 'Hall F', '--parent', 'Site 1', '--property', 'a=1')
    const send = globalThis.fetch
    t.mock.method(globalThis, 'fetch', async (...request: Parameters<typeof fetch>) => {
      if (request[1]?.method === 'PATCH')
        await client.updateNode({ params: { id }, body: { data: { properties: { b: '2' } } } })
      return send(...request)
    })
    const conflict = await run(['node', 'update', id, '--property', 'c=3'])
    assert.deepEqual([conflict.code, /\(precondition_failed\)/.test(conflict.err)], [5, true])
    t.mock.restoreAll()
    await hierarchy('node', 'delete', id)
  })

  test('hierarchy node move, copy and history show the places of a node', async () => {
    await hierarchy('node', 'create', 'Site 2')
    await hierarchy('node', 'move', 'Site 1/Hall A\\/1', '--parent', 'Site 2')
    await hierarchy('node', 'move', 'Site 2', '--position', '0')
    assert.match(
      await hierarchy('node', 'copy', 'Site 2/Hall A\\/1', '--name', 'Hall E'),
      / created, 2 nodes in total$/,
    )
    const tree = linesOf(await hierarchy('tree', 'Plant')).map((line) => line.split(/(?<=\S) {2,}/)[0])
    assert.deepEqual(tree.slice(0, 6), ['Site 2', '  Hall A/1', '    Line 1', '  Hall E', '    Line 1', 'Site 1'])
    const [move = ''] = linesOf(await hierarchy('node', 'history', 'Site 2/Hall A\\/1'))
    assert.match(move, /Site 1 +0 +Site 2 +0$/)
    assert.match(await hierarchy('node', 'history', 'Site 2'), /\(top level\) +1 +\(top level\) +0$/m)
    const below = await run(['node', 'move', 'Site 2', '--parent', 'Site 2/Hall E'])
    assert.deepEqual([below.code, /\(node_below_itself\)/.test(below.err)], [5, true])
    assert.equal((await run(['node', 'move', 'Site 2'])).code, 2)
    assert.equal((await run(['node', 'move', 'Site 2', '--top', '--parent', 'Site 1'])).code, 2)
  })

  test('hierarchy search prints paths, below a node and page by page', async () => {
    const paths = async (...args: string[]) =>
      linesOf(await hierarchy('search', ...args)).map((line) => line.split(/ {2,}/)[1])
    assert.deepEqual(await paths('LINE'), ['Site 2/Hall A\\/1/Line 1', 'Site 2/Hall E/Line 1'])
    assert.deepEqual(await paths('line', '--below', 'Site 2/Hall E'), ['Site 2/Hall E/Line 1'])
    const limited = await run(['search', 'line', '--limit', '1'])
    assert.equal(limited.err, 'More nodes match. To show all, pass --all.\n')
    assert.equal((await hierarchy('search', 'line', '--all', '--ndjson')).split('\n').length, 2)
    assert.equal((await run(['search', 'nothing'])).err, 'No node matches.\n')
  })

  test('hierarchy node delete needs --recursive for a node with nodes below, and a confirmation', async () => {
    const refused = await run(['node', 'delete', 'Site 2'])
    assert.equal(refused.code, 5)
    assert.match(refused.err, / pass --recursive\. The assets are not deleted \(hierarchy_not_empty\)\n$/)
    assert.doesNotMatch(refused.err, /recursive=true/)
    assert.equal((await run(['node', 'delete', 'Site 2', '--recursive'])).code, 2)
    assert.equal(
      (await run(['node', 'delete', 'Site 2', '--recursive'], { answers: ['n'] })).err,
      'Delete the node Site 2 with all nodes below? [y/N] Nothing was changed.\n',
    )
    assert.match(await hierarchy('node', 'delete', 'Site 2', '--recursive', '--yes'), / deleted, 5 nodes in total$/)
  })
})

describe('assets of nodes', () => {
  before(async () => {
    await hierarchy('create', 'Areas')
    await hierarchy('node', 'create', 'North', '--hierarchy', 'Areas')
    await hierarchy('node', 'create', 'Cell', '--hierarchy', 'Areas', '--parent', 'North')
  })

  const inAreas = ['--hierarchy', 'Areas']
  const names = async (...args: string[]) => linesOf(await succeed(...args, '--columns', 'name', '--sort', 'name'))

  test('hierarchy assign assigns assets by name, prints how to undo, and exits with 1 if an asset fails', async () => {
    const first = await run(['assign', 'North', 'Drive 1', 'Drive 2', ...inAreas])
    assert.deepEqual([first.code, first.out], [0, '2 assigned\n'])
    assert.match(first.err, /^To undo: millwright hierarchy assignment undo [0-9a-f-]{36}\n$/)
    assert.equal(await hierarchy('assign', 'North/Cell', 'Drive 2', ...inAreas), '1 moved')
    const partly = await run([
      'assign',
      'North',
      'Drive 1',
      'Pump 1',
      '0198f0c2-7b1e-7c3a-9d55-0242ac120002',
      ...inAreas,
    ])
    assert.deepEqual([partly.code, partly.out], [1, '1 assigned, 1 unchanged, 1 failed\n'])
    assert.match(partly.err, /^0198f0c2-7b1e-7c3a-9d55-0242ac120002: /m)
    assert.match(partly.err, /^1 of 3 failed\.$/m)
    assert.equal(await hierarchy('unassign', 'North', 'Pump 1', ...inAreas), '1 removed')
    await hierarchy('node', 'create', 'Below', '--parent', 'North', ...inAreas)
    await hierarchy('assign', 'North/Below', 'Pump 1', ...inAreas)
    assert.equal(await hierarchy('unassign', 'North', 'Pump 1', ...inAreas), '1 unchanged')
    assert.equal(await hierarchy('unassign', 'North', 'Pump 1', '--below', ...inAreas), '1 removed')
    await hierarchy('node', 'delete', 'North/Below', ...inAreas)
    assert.equal((await run(['assign', 'North', ...inAreas])).code, 2)
    assert.equal((await run(['assign', 'North', 'Drive 1', '--filter', "name eq 'x'", ...inAreas])).code, 2)
  })

  test('hierarchy assets, hierarchy unassigned and assets list select assets by node', async () => {
    assert.deepEqual(await names('hierarchy', 'assets', 'North', ...inAreas), ['Drive 1'])
    assert.deepEqual(await names('hierarchy', 'assets', 'North', '--below', ...inAreas), ['Drive 1', 'Drive 2'])
    assert.deepEqual(await names('hierarchy', 'unassigned', 'Areas'), ['Pump 1'])
    assert.deepEqual(await names('assets', 'list', '--node', 'North', ...inAreas), ['Drive 1'])
    assert.deepEqual(await names('assets', 'list', '--node', 'North', '--below', '-q', 'drive', ...inAreas), [
      'Drive 1',
      'Drive 2',
    ])
    assert.deepEqual(await names('assets', 'list', '--unassigned', 'Areas'), ['Pump 1'])
    const wrong = async (...args: string[]) => (await platform.run(['assets', 'list', ...args], { token })).code
    assert.equal(await wrong('--below'), 2)
    assert.equal(await wrong('--node', 'North', '--unassigned', 'Areas', ...inAreas), 2)
    assert.equal(await wrong('--node', 'South', ...inAreas), 4)
    assert.equal(await hierarchy('of', 'Drive 2'), 'HIERARCHY  PATH\nAreas      North/Cell')
    assert.equal((await run(['of', 'Pump 1'])).err, 'The asset is not assigned to a node.\n')
  })

  test('assets list --paths adds the paths of the nodes to the table and to the JSON formats', async () => {
    const list = (...args: string[]) => succeed('assets', 'list', '--paths', '--sort', 'name', ...args)
    assert.deepEqual(linesOf(await list('--columns', 'name')), [
      'Drive 1  Areas: North',
      'Drive 2  Areas: North/Cell',
      'Pump 1',
    ])
    const rows = (await list('--all', '--ndjson', '--fields', 'name')).trim().split('\n')
    assert.deepEqual(
      rows.map((row) => JSON.parse(row).hierarchy_paths),
      [[{ hierarchy: 'Areas', path: 'North' }], [{ hierarchy: 'Areas', path: 'North/Cell' }], []],
    )
    assert.equal(
      await list('--all', '--json', '--filter', "name eq 'none'"),
      '{"data":[],"meta":{"elements":0,"offset":0}}',
    )
  })

  test('hierarchy tree shows the number of assets including below', async () => {
    await until(async () => /^North +2 +0 +0 +2$|^North +1 +2 +0 +0 +2$/m.test(await hierarchy('tree', 'Areas')))
    assert.equal((await run(['rebuild', ...inAreas])).code, 0)
    assert.match(await hierarchy('tree', 'Areas'), /^ {2}Cell +0 +1 +0 +0 +1$/m)
  })

  test('hierarchy assign --filter asks for confirmation, runs in the background and can be undone', async () => {
    const filter = ['--filter', "startswith(name, 'Pump')", ...inAreas]
    const unconfirmed = await run(['assign', 'North', ...filter])
    assert.deepEqual([unconfirmed.code, /^Assign 1 asset to North\? /.test(unconfirmed.err)], [2, true])
    assert.equal((await run(['assign', 'North', ...filter, '--wait'], { answers: ['y'] })).out, '1 assigned\n')
    const [entry] = JSON.parse(await hierarchy('assignments', ...inAreas, '--json')).data
    assert.deepEqual([entry.kind, entry.state, entry.assigned], ['filter', 'finished', 1])
    assert.match(await hierarchy('assignment', 'results', entry.id), / assigned$/m)
    assert.equal((await run(['assignment', 'results', entry.id, '--outcome', 'failed'])).err, 'No asset was changed.\n')
    assert.equal((await run(['assignment', 'cancel', entry.id])).code, 5)
    assert.equal(await hierarchy('assignment', 'undo', entry.id, '--wait'), '1 removed')
    assert.match(await hierarchy('assignment', 'show', entry.id), /^undoneBy +[0-9a-f-]{36}$/m)
    assert.equal((await run(['assignment', 'undo', entry.id])).code, 5)
    const accepted = await hierarchy('assign', 'North', ...filter, '--yes')
    const [, id = ''] = /^Assignment ([0-9a-f-]{36}) accepted\. /.exec(accepted) ?? []
    assert.equal(await hierarchy('assignment', 'show', id, '--wait'), '1 assigned')
    assert.equal(await hierarchy('unassign', 'North', 'Pump 1', ...inAreas), '1 removed')
    assert.equal((await run(['assign', 'North', '--filter', "name eq 'none'", ...inAreas])).err, 'No asset matches.\n')
  })

  test('hierarchy assign --filter --wait exits with 1 and names the errors if the caller cannot write an asset', async () => {
    const group = await succeed('access', 'groups', 'create', 'line-1')
    await succeed('assets', 'move', 'Drive 1', '--to', 'line-1')
    const { token: writer } = await createCaller(platform.hub, [
      {
        permissions: [
          'glb_hierarchy_read',
          'glb_hierarchy_write',
          'glb_inventory_write_relation_data',
          'inventory_read_asset_data',
        ],
      },
      { permissions: ['inventory_write_asset_data'], accessGroupId: group },
    ])
    const as = (args: string[]) => run(args, { environment: { MILLWRIGHT_TOKEN: writer } })
    const filter = ['--filter', "startswith(name, 'Drive')", '--yes', '--wait']
    const partly = await as(['assign', 'North/Cell', ...filter, ...inAreas])
    assert.deepEqual([partly.code, partly.out], [1, '1 moved, 1 failed\n'])
    const [, id = ''] = /assignment results (\S+) --outcome failed$/m.exec(partly.err) ?? []
    assert.match((await as(['assignment', 'results', id, '--outcome', 'failed'])).out, / failed .* forbidden /)
  })

  test('hierarchy cleanup repeats the request until no relation remains', async (t) => {
    const answers = [
      { deletedRelations: 10_000, remainingRelations: 5 },
      { deletedRelations: 5, remainingRelations: 0 },
    ]
    t.mock.method(globalThis, 'fetch', async () => Response.json({ data: answers.shift() }))
    assert.equal(await hierarchy('cleanup', '0198f0c2-7b1e-7c3a-9d55-0242ac120002'), '10005 deleted, 0 remain')
  })

  test('hierarchy node delete prints the number of remaining relations in the singular or plural', async (t) => {
    const id = '0198f0c2-7b1e-7c3a-9d55-0242ac120002'
    const data = { deletedNodes: 1, remainingRelations: 0 }
    t.mock.method(globalThis, 'fetch', async () => Response.json({ data }))
    const noteFor = async (remainingRelations: number) => {
      data.remainingRelations = remainingRelations
      return (await run(['node', 'delete', id, '--recursive', '--yes'])).err
    }
    const command = `millwright hierarchy cleanup ${id}\n`
    assert.equal(await noteFor(1), `1 relation of an asset to a deleted node remains. To delete it: ${command}`)
    assert.equal(await noteFor(2), `2 relations of assets to deleted nodes remain. To delete them: ${command}`)
    assert.equal(await noteFor(0), '')
  })

  test('hierarchy rules set accepts paths, and apply-proposals assigns after a confirmation', async () => {
    const file = join(platform.folder, 'rules.json')
    writeFileSync(file, JSON.stringify([{ node: 'North/Cell', namePattern: 'Pump*', subnet: '10.0.4.0/24' }]))
    assert.equal(await hierarchy('rules', 'set', file, ...inAreas), '1 rule stored')
    assert.match(await hierarchy('rules', 'show', ...inAreas), /^North\/Cell +Pump\* +10\.0\.4\.0\/24/m)
    const stored = await hierarchy('rules', 'show', ...inAreas, '--json')
    assert.equal((await run(['rules', 'set', '-', ...inAreas], { input: stored })).out, '1 rule stored\n')
    await until(async () => /^[0-9a-f-]{36} +Pump 1 +Cell +0$/m.test((await run(['proposals', ...inAreas])).out))
    assert.equal((await run(['apply-proposals', ...inAreas])).code, 2)
    const applied = await run(['apply-proposals', ...inAreas], { answers: ['y'] })
    assert.deepEqual([applied.code, /^1 assigned$/m.test(applied.out)], [0, true])
    assert.match(applied.err, /^Assign 1 asset\? \[y\/N\] /)
    for (const input of ['{"rules":1}', '[1]', '[{"namePattern":"x"}]'])
      assert.equal((await run(['rules', 'set', '-', ...inAreas], { input })).code, 2, input)
    const subnet = await run(['rules', 'set', '-', ...inAreas], { input: '[{"node":"North","subnet":"x"}]' })
    assert.deepEqual([subnet.code, /\(invalid_range\)/.test(subnet.err)], [2, true])
  })

  test('hierarchy cleanup deletes the relations that remain after a deletion', async () => {
    const id = JSON.parse(await hierarchy('node', 'show', 'North/Cell', ...inAreas, '--json')).data.id
    const deleted = await run(['node', 'delete', 'North/Cell', '--recursive', '--yes', ...inAreas])
    assert.equal(deleted.code, 0)
    assert.match(deleted.err, new RegExp(`^3 relations .*millwright hierarchy cleanup ${id}\n$`))
    assert.equal(await hierarchy('cleanup', id), '3 deleted, 0 remain')
    assert.equal((await run(['cleanup', '0198f0c2-7b1e-7c3a-9d55-0242ac120002'])).code, 4)
  })
})

describe('import and export', () => {
  const csv = 'Path,Type,Property: Owner\r\nSite 1,site,Jane\r\nSite 1/Line A,line,\r\n'

  test('hierarchy import reads CSV and JSON, and --dry-run changes nothing', async () => {
    const into = ['--hierarchy', 'Imported']
    await hierarchy('create', 'Imported')
    const file = join(platform.folder, 'plant.csv')
    writeFileSync(file, csv)
    assert.equal(
      await hierarchy('import', file, '--dry-run', ...into),
      '2 created, 0 updated, 0 unchanged (dry run: nothing was changed)',
    )
    assert.equal(await hierarchy('import', file, ...into), '2 created, 0 updated, 0 unchanged')
    assert.equal((await run(['import', '-', ...into], { input: csv })).out, '0 created, 0 updated, 2 unchanged\n')
    const input = JSON.stringify({ nodes: [{ path: ['Site 1', 'Line B'] }] })
    assert.equal((await run(['import', '-', ...into], { input })).out, '1 created, 0 updated, 0 unchanged\n')
    const wrong = await run(['import', '-', ...into], { input: 'Place\r\nx\r\n' })
    assert.deepEqual([wrong.code, /column Path.*\(invalid_body\)/.test(wrong.err)], [2, true])
    assert.equal((await run(['import', '-', ...into], { input: '{"rows":[]}' })).code, 2)
    assert.equal((await run(['import', join(platform.folder, 'missing.csv'), ...into])).code, 2)
  })

  test('hierarchy export writes to standard output or to a file, and the file can be imported', async () => {
    const from = ['--hierarchy', 'Imported']
    const { out } = await run(['export', '--format', 'csv', ...from])
    assert.equal(out, `${csv}Site 1/Line B,,\r\n`)
    assert.equal(JSON.parse(await hierarchy('export', ...from)).data.nodes.length, 3)
    for (const name of ['out.csv', 'out.json']) {
      const file = join(platform.folder, name)
      assert.equal(await hierarchy('export', '--output', file, ...from), `${file} written`)
      assert.equal(readFileSync(file, 'utf8').startsWith(name === 'out.csv' ? 'Path,' : '{'), true)
      assert.equal(await hierarchy('import', file, ...from), '0 created, 0 updated, 3 unchanged')
    }
    const missing = await run(['export', '--output', join(platform.folder, 'missing', 'x.csv'), ...from])
    assert.deepEqual([missing.code, /cannot be written \(ENOENT\)/.test(missing.err)], [2, true])
  })
})

test('hierarchy create exits with 3 and names the missing permission for a viewer', async () => {
  const { token: viewer } = await platform.as('viewer')
  const denied = await run(['create', 'x'], { environment: { MILLWRIGHT_TOKEN: viewer } })
  assert.equal(denied.code, 3)
  assert.match(denied.err, /^Permission denied: requires `glb_hierarchy_write` \(forbidden\)/)
})
