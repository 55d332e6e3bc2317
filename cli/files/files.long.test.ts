import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type RunResult, TestPlatform } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'millwright-files-'))
const inFolder = (name: string) => join(folder, name)

describe('import and export', () => {
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

  const table = (...rows: string[]) => ['Name,MAC address,Manufacturer,Colour', ...rows, ''].join('\r\n')

  test('a dry run changes nothing, and its import runs with the id of the dry run', async () => {
    const file = inFolder('racks.csv')
    writeFileSync(file, table('Rack 1,00-1B-1B-00-10-01,Acme,red', 'Rack 2,00-1B-1B-00-10-02,Acme,blue'))
    const planned = await run('import', file, '--dry-run')
    assert.equal(planned.code, 0, planned.err)
    assert.match(planned.out, /2 to create \(dry run: nothing was changed\)/)
    assert.match(planned.err, /ignored: Colour/)
    assert.doesNotMatch((await run('assets', 'list')).out, /Rack 1/)
    const [, id = ''] = /millwright imports run (\S+)/.exec(planned.err) ?? []
    const done = await run('imports', 'run', id)
    assert.equal(done.code, 0, done.err)
    assert.match(done.out, /2 created/)
    assert.match((await run('assets', 'list')).out, /Rack 1/)
  })

  test('rows with errors are printed with their reason, the exit code is 1, and the report contains them', async () => {
    const file = inFolder('errors.csv')
    writeFileSync(file, table('Rack 3,00-1B-1B-00-10-03,Acme,', 'Rack 4,not a MAC address,Acme,'))
    const planned = await run('import', file, '--dry-run')
    assert.equal(planned.code, 1)
    assert.match(planned.err, /To import the other rows: millwright imports run/)
    const result = await run('import', file)
    assert.equal(result.code, 1)
    assert.match(result.out + result.err, /1 created, 1 failed|1 of 2 rows failed/)
    assert.match(result.err, /Row 3: MAC address must be/)
    const [, id = ''] = /millwright imports report (\S+)/.exec(result.err) ?? []
    const report = inFolder('report.csv')
    const saved = await run('imports', 'report', id, '--output', report)
    assert.equal(saved.code, 0, saved.err)
    assert.match(readFileSync(report, 'utf8'), /Result,Reason/)
    const failed = await run('imports', 'rows', id, '--outcome', 'failed')
    assert.match(failed.out, /^3 +failed/m)
    assert.match((await run('imports', 'list')).out, /errors\.csv/)
    assert.equal((await run('imports', 'delete', id)).code, 0)
    assert.equal((await run('imports', 'show', id)).code, 4)
  })

  test('an export is written to a file in the format of its name, and can be imported without a change', async () => {
    for (const name of ['all.csv', 'all.xlsx', 'all.ndjson']) {
      const file = inFolder(name)
      const saved = await run('export', 'assets', '--output', file)
      assert.equal(saved.code, 0, saved.err)
      assert.match(saved.out, /written: \d+ entries/)
      const again = await run('import', file)
      assert.equal(again.code, 0, `${name}: ${again.err}`)
      assert.match(again.out, /^\d+ unchanged$/m, name)
    }
  })

  test('an export is selected by a filter and columns, and goes to standard output', async () => {
    const filter = "name eq 'Rack 1'"
    const { out } = await run('export', 'assets', '--filter', filter, '--columns', 'name,mac_address', '--output', '-')
    assert.match(out, /^\uFEFF?Name,MAC address\r?\nRack 1,/)
    assert.doesNotMatch(out, /Rack 2/)
    assert.match((await run('exports', 'list')).out, /assets .*finished/)
  })

  test('wrong formats, contents and files are usage errors with the next step', async () => {
    const refused = [
      ['export', 'assets', '--format', 'dot'],
      ['export', 'weather'],
      ['export', 'assets', '--output', join(folder, 'missing', 'a.csv')],
      ['import', inFolder('missing.csv')],
      ['import', folder],
      ['import', inFolder('racks.csv'), '--map', 'Colour=description'],
      ['import', inFolder('racks.csv'), '--map', 'Colour=shade', '--save-mapping', 'Racks'],
      ['imports', 'template', '--output', inFolder('template.txt')],
      ['imports', 'template', '--output', join(folder, 'missing', 'template.csv')],
    ]
    for (const args of refused) {
      const { code, err } = await run(...args)
      assert.equal(code, 2, args.join(' '))
      assert.match(err, /Next: /, args.join(' '))
    }
  })

  test('a mapping of columns is saved and used for the next file', async () => {
    const headings = 'Label;Hardware address;Hint'
    const file = inFolder('vendor.csv')
    writeFileSync(file, `${headings}\r\nPump 1;00-1B-1B-00-10-21;blue\r\n`)
    const map = ['--map', 'Label=name', '--map', 'Hardware address=mac_address', '--map', 'Hint=description']
    const first = await run('import', file, ...map, '--save-mapping', 'Vendor')
    assert.equal(first.code, 0, first.err)
    writeFileSync(file, `${headings}\r\nPump 1;00-1B-1B-00-10-21;red\r\n`)
    const second = await run('import', file, '--mapping', 'Vendor')
    assert.match(second.out, /1 updated/, second.err)
    assert.match((await run('imports', 'mappings', 'show', 'Vendor')).out, /Hint +description/)
    assert.match((await run('imports', 'columns', file)).out, /Hardware address +mac_address/)
    const existing = await run('import', file, '--save-mapping', 'Vendor')
    assert.equal(existing.code, 5)
    assert.match(existing.err, /Next: use the mapping with --mapping/)
    assert.equal((await run('imports', 'mappings', 'delete', 'Vendor')).code, 0)
    const unmapped = await run('import', file)
    assert.equal(unmapped.code, 1)
    assert.match(unmapped.err, /Next: see the suggested fields with millwright imports columns/)
  })

  test('the template is a file with the columns of the tenant', async () => {
    const file = inFolder('template.csv')
    assert.equal((await run('imports', 'template', '--output', file)).code, 0)
    assert.match(readFileSync(file, 'utf8'), /Name,Type,Description,Manufacturer/)
  })
})
