import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { Permission } from '@millwright/api/permission.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import type { Browser, Download, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { runCommand } from './command.ts'
import {
  assertAxeClean,
  type ConsoleBrowser,
  consoleOf,
  follow,
  narrow,
  navigationTo,
  routeUntil,
  untilDisabled,
  wide,
} from './console.ts'
import { bearer, type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { assertOverlayReachable, clickAsPerson } from './reachability.ts'

const existing = [
  { name: 'PLC 10', mac: '00:1b:1b:00:00:10' },
  { name: 'Press 1', mac: '00:1b:1b:00:00:11' },
]

/** A table with foreign headings: one row for each result, and two rows with different errors. */
const table = [
  'Station name;Ethernet;Supplier;Room',
  'Robot 1;00:1b:1b:00:00:20;Acme;Hall 7',
  'PLC 10 west;00:1b:1b:00:00:10;Acme;Hall 8',
  'Press 1;00:1b:1b:00:00:11;;',
  'Twin;00:1b:1b:00:00:20;Acme;',
  'Without identifier;;Acme;',
  '',
].join('\r\n')

const password = `the ${plantedWord} of a user`

describe('import and export of files in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    caller = await callerOf(platform)
    const assets = existing.map(({ name, mac }) => ({
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name,
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac }],
    }))
    const { data } = await caller.inventory.createAssets({ headers: { prefer: 'wait=30' }, body: { data: { assets } } })
    assert.equal(data.state, 'finished', JSON.stringify(data))
    ;({ page } = await consoleBrowser.open({ acceptDownloads: true }))
    await consoleBrowser.signIn(page, { path: '/files' })
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' }).first()
  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const fieldOf = (column: string) => page.getByLabel(`Field: ${column}`)
  const row = (number: number) => page.getByRole('row').filter({ has: page.getByText(String(number), { exact: true }) })
  const currentStep = (name: string) => page.locator('[aria-current=step]').filter({ hasText: name }).waitFor()

  /** Returns the figures of an import by name. */
  const figures = async () =>
    Object.fromEntries(
      await page
        .locator('.figure')
        .evaluateAll((all) =>
          all.map((one) => [one.querySelector('dt')?.textContent, one.querySelector('dd')?.textContent]),
        ),
    )
  const figuresAre = (expected: Record<string, string>) =>
    until(`the figures are ${JSON.stringify(expected)}`, async () => {
      const shown = await figures()
      return Object.entries(expected).every(([name, value]) => shown[name] === value)
    })

  /** Drops a file on the page, as a person does who drags it from a folder. */
  async function drop(name: string, content: string): Promise<void> {
    const zone = page.locator('.drop-zone')
    await zone.waitFor()
    const dataTransfer = await page.evaluateHandle(
      ([fileName, text]) => {
        const transfer = new DataTransfer()
        transfer.items.add(new File([text], fileName))
        return transfer
      },
      [name, content] as const,
    )
    await zone.dispatchEvent('dragover', { dataTransfer })
    await zone.dispatchEvent('drop', { dataTransfer })
  }

  async function downloaded(act: () => Promise<unknown>): Promise<{ name: string; text: string }> {
    const [file] = await Promise.all([page.waitForEvent('download'), act()])
    return { name: file.suggestedFilename(), text: await textOf(file) }
  }

  async function namesOfAssets(): Promise<string[]> {
    const { data } = await caller.inventory.listAssets({ query: { filter: "functional_object_type eq 'Device'" } })
    return data.map(({ name }) => String(name)).toSorted()
  }

  test('explains imports and exports when there are none', async () => {
    await page.getByText('No imports yet').waitFor()
    await page.getByRole('tab', { name: 'Exports' }).click()
    await page.getByText('No exports').waitFor()
    await assertAxeClean(page, 'list without exports')
    await page.getByRole('tab', { name: 'Imports' }).click()
    await clickAsPerson(button('Import file'))
    await heading('Import file')
    await assertAxeClean(page, 'page that uploads a file')
    const template = await downloaded(() => clickAsPerson(button('CSV template')))
    assert.match(template.text, /^\uFEFF?Name,Type,Description,Manufacturer/)
  })

  test('refuses a file of another type with the reason, and accepts the next file', async () => {
    await drop('picture.png', '\u0089PNG\r\n\u001a\n\u0000\u0000')
    await page.getByText('The file cannot be imported').waitFor()
    await page.getByRole('link', { name: 'unsupported_file' }).waitFor()
    await drop('stations.csv', table)
    await currentStep('Columns')
  })

  test('suggests a field for each foreign column, and the user changes a field', async () => {
    await fieldOf('Station name').waitFor()
    const shown = async () =>
      Promise.all(['Station name', 'Ethernet', 'Supplier', 'Room'].map((column) => fieldOf(column).inputValue()))
    assert.deepEqual(await shown(), ['name', 'mac_address', 'manufacturer', ''])
    await page.keyboard.press('Tab')
    assert.ok(await fieldOf('Station name').evaluate((field) => field === document.activeElement))
    assert.equal(await page.getByText('by heading').count(), 2)
    assert.equal(await page.getByText('by values').count(), 1)
    await fieldOf('Room').selectOption({ label: 'Name' })
    await page.getByRole('alert').getByText('Two columns have the field “Name”').waitFor()
    await untilDisabled(button('Preview'))
    await fieldOf('Room').selectOption({ label: 'Description' })
    await fieldOf('Ethernet').selectOption({ label: 'Ignore column' })
    await page.getByRole('alert').getByText('No column identifies assets.').waitFor()
    await untilDisabled(button('Preview'))
    await fieldOf('Ethernet').selectOption({ label: 'MAC address' })
    await page.getByRole('alert').waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Name of this mapping').inputValue(), 'stations')
    await assertAxeClean(page, 'columns')
    await page.setViewportSize(narrow)
    await assertAxeClean(page, 'columns, phone', 'all but contrast')
    await page.setViewportSize(wide)
  })

  test('shows in the preview what each row would do and by what it matched, without a change', async () => {
    await clickAsPerson(button('Preview'))
    await heading('Preview of stations.csv')
    await figuresAre({ Rows: '5', 'To create': '1', 'To update': '1', Unchanged: '1', 'With errors': '2' })
    await row(2).getByText('Create', { exact: true }).waitFor()
    await row(3).getByText('Update', { exact: true }).waitFor()
    await row(3).getByText('Matched by 00:1b:1b:00:00:10').waitFor()
    await row(4).getByText('Unchanged', { exact: true }).waitFor()
    await row(5)
      .getByText(/^Row 2 describes the same asset/)
      .waitFor()
    await row(6)
      .getByText(/^The row has no identifier/)
      .waitFor()
    await page.getByText('Rows with errors are left out.').waitFor()
    await assertAxeClean(page, 'preview')
    await page.getByLabel('Result').selectOption({ label: 'Error' })
    await row(2).waitFor({ state: 'detached' })
    await row(6).getByRole('gridcell').first().click()
    await dialog().getByText('Without identifier').waitFor()
    await assertOverlayReachable(page, 'dialog of a row')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    assert.deepEqual(await namesOfAssets(), ['PLC 10', 'Press 1'])
  })

  test('returns from the preview to the columns of the same file, with the saved mapping', async () => {
    await clickAsPerson(button('Change columns'))
    await fieldOf('Room').waitFor()
    assert.equal(await fieldOf('Room').inputValue(), 'description')
    assert.equal(await page.getByText('saved mapping').count(), 4)
    await clickAsPerson(button('Preview'))
    await figuresAre({ 'To create': '1', 'To update': '1' })
  })

  test('runs the import with its progress, and downloads the report', async () => {
    // The import is too short to show its progress, so the page gets a running state until the test has seen it.
    const showResult = await routeUntil(page, /\/imports\/v1\/files\/[^/]+$/, async (route) => {
      const response = await route.fetch()
      const { data } = await response.json()
      await route.fulfill({ response, json: { data: { ...data, state: 'running', progress: 40 } } })
    })
    await clickAsPerson(button('Import 2 rows'))
    await heading('Import of stations.csv')
    await page.getByText('The import is running. You can leave this page.').waitFor()
    assert.equal(await page.getByRole('progressbar').getAttribute('value'), '40')
    showResult()
    await page.getByText('Finished', { exact: true }).waitFor()
    await figuresAre({ Rows: '5', Created: '1', Updated: '1', Unchanged: '1', Failed: '2' })
    await assertAxeClean(page, 'result of an import')
    assert.deepEqual(await namesOfAssets(), ['PLC 10 west', 'Press 1', 'Robot 1'])
    const { name, text } = await downloaded(() => clickAsPerson(button('Download report')))
    assert.equal(name, 'stations-report.csv')
    const lines = text.replace('\uFEFF', '').split('\r\n')
    assert.equal(lines[0], 'Station name,Ethernet,Supplier,Room,Result,Reason')
    assert.equal(lines[1], 'Robot 1,00:1b:1b:00:00:20,Acme,Hall 7,created,')
    assert.match(lines[2] ?? '', /,updated,$/)
    assert.match(lines[3] ?? '', /,unchanged,$/)
    assert.match(lines[4] ?? '', /,failed,Row 2 describes the same asset/)
    assert.match(lines[5] ?? '', /,failed,"The row has no identifier/)
  })

  test('lists past imports, and deletes one', async () => {
    await page.getByRole('link', { name: 'Imports', exact: true }).click()
    const listed = page.getByRole('row').filter({ hasText: 'stations.csv' })
    await until('both imports are listed', async () => (await listed.count()) === 2)
    await assertAxeClean(page, 'list of imports')
    await listed.filter({ hasText: 'Dry run' }).getByRole('gridcell').first().click()
    await heading('Preview of stations.csv')
    await clickAsPerson(button('Delete import'))
    await inDialog('Delete import').click()
    await until('one import is listed', async () => (await listed.count()) === 1)
  })

  test('lists saved mappings, and deletes one', async () => {
    await page.getByRole('tab', { name: 'Column mappings' }).click()
    await page
      .getByText('Station name → Name, Ethernet → MAC address, Supplier → Manufacturer, Room → Description')
      .waitFor()
    await assertAxeClean(page, 'list of mappings')
    await clickAsPerson(button('Delete'))
    await dialog().getByText('Delete mapping “stations”').waitFor()
    await inDialog('Delete').click()
    await page.getByText('No column mappings').waitFor()
  })

  test('exports the list with its filter and columns, and shows the command and the call that do the same', async () => {
    await follow(page, `/assets?filter=${encodeURIComponent("contains(name,'1')")}&q=press`)
    await page.getByRole('link', { name: 'Press 1' }).waitFor()
    await clickAsPerson(button('Export'))
    await dialog().getByText('Only entries that match the current search and filter are exported.').waitFor()
    await dialog().getByLabel('Format').selectOption({ label: 'CSV table (.csv)' })
    await dialog().getByLabel('Only the columns that the table shows').check()
    for (const title of ['The same on the command line', 'The same with the API'])
      await dialog().getByText(title).click()
    const [command = '', call = ''] = await dialog().locator('pre').allTextContents()
    await assertAxeClean(page, 'export dialog')
    for (const viewport of [narrow, wide]) {
      await page.setViewportSize(viewport)
      await assertOverlayReachable(page, `export dialog, ${viewport.width} pixels`)
    }
    const { name, text } = await downloaded(() => inDialog('Export').click())
    assert.match(name, /^assets-.*\.csv$/)
    const lines = text.replace('\uFEFF', '').trim().split('\r\n')
    assert.equal(
      lines[0],
      'Name,Reachability,Product,IP address,Firmware version,Hierarchy path,Management state',
      'the default columns of the table',
    )
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(',')[0]),
      ['Press 1'],
    )
    await dialog().getByText('The export has finished, and the download has started.').waitFor()
    await dialog()
      .getByText(/· 1 entry ·/)
      .waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await resultOfCommand(command), text, command)
    assert.equal(await resultOfCall(call), text, call)
  })

  /** Runs the command in a shell, with standard output as its file. */
  async function resultOfCommand(command: string): Promise<string> {
    assert.match(command, / --output assets\.csv$/)
    const words = command.replace(/assets\.csv$/, '-').match(/'(?:[^']|'\\'')*'|\S+/g) ?? []
    const args = words.map((word) => word.replace(/^'|'$/g, '').replaceAll(`'\\''`, "'"))
    const { code, stdout, stderr } = await runCommand(args.slice(1), { home: folder.path })
    assert.equal(code, 0, stderr)
    return stdout
  }

  async function resultOfCall(call: string): Promise<string> {
    const [, method, path, body] = /^(\S+) (\S+)\n.*\n\n([\s\S]*)$/.exec(call) ?? assert.fail(call)
    const headers = { ...bearer(caller.token), 'content-type': 'application/json' }
    const started = await fetch(`${platform.baseUrl}${path}`, { method: String(method), headers, body: String(body) })
    const { data } = (await started.json()) as { data: { exportId: string } }
    const params = { exportId: data.exportId }
    await until('the export ends', async () => (await caller.exports.readExport({ params })).data.state === 'finished')
    const content = await fetch(`${platform.baseUrl}/exports/v1/files/${data.exportId}/content`, { headers })
    return Buffer.from(await content.arrayBuffer()).toString()
  }

  test('lists the exports of the user, downloads one again, and deletes it', async () => {
    await follow(page, '/files?view=exports')
    await assertAxeClean(page, 'list of exports')
    const { text } = await downloaded(() => clickAsPerson(button(/^Download: assets-.*\.csv$/)))
    assert.match(text, /Press 1/)
    await clickAsPerson(button(/^Delete: assets-.*\.csv$/))
    await page.getByText('No exports').waitFor()
  })

  test('exports one asset as an Asset Administration Shell, its relations, the audit trail and the graph', async () => {
    const { data } = await caller.inventory.listAssets({ query: { q: 'Robot' } })
    const asset = `/assets/${data[0]?.id}`
    const places: [path: string, clicks: string[], format: string, content: RegExp][] = [
      [asset, ['More', 'Export…'], 'Asset Administration Shell, JSON (.aas.json)', /"assetAdministrationShells"/],
      [`${asset}?tab=relations`, ['Export'], 'JSON (.json)', /^\{"data":\[/],
      [
        '/activity',
        ['Export', 'Audit trail with hashes…'],
        'NDJSON, one object per line (.ndjson)',
        /imports\.uploadFile/,
      ],
      ['/topology', ['Export'], 'GraphML (.graphml)', /Robot 1/],
    ]
    for (const [path, clicks, format, content] of places) {
      await follow(page, path)
      for (const name of clicks)
        await clickAsPerson(page.getByRole(name.endsWith('…') ? 'menuitem' : 'button', { name, exact: true }).first())
      await dialog().getByLabel('Format').selectOption({ label: format })
      const { text } = await downloaded(() => inDialog('Export').click())
      assert.match(text, content, path)
      await page.keyboard.press('Escape')
      await dialog().waitFor({ state: 'detached' })
    }
  })

  test('is used in German, in dark colours', async () => {
    await follow(page, '/files/import')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('deutsch')
    await page.keyboard.press('Enter')
    await heading('Datei importieren')
    await page.emulateMedia({ colorScheme: 'dark' })
    await drop('stations.csv', table)
    await page.getByLabel('Feld: Room').waitFor()
    await assertAxeClean(page, 'columns, dark', 'contrast')
    await clickAsPerson(button('Vorschau'))
    await heading('Vorschau von stations.csv')
    await page.getByText('Der Import würde nichts ändern.').or(page.getByText('Zeilen mit Fehlern werden')).waitFor()
    await assertAxeClean(page, 'preview, dark', 'contrast')
  })

  /** Signs in as a new user with these permissions and the role viewer in all access groups. */
  async function openAs(name: string, permissions: Permission[]): Promise<Page> {
    const { data: user } = await caller.identity.createUser({ body: { data: { name, password } } })
    await caller.authorization.createRole({ body: { data: { name, permissions } } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: name } } })
    const opened = await consoleBrowser.open()
    await consoleBrowser.signIn(opened.page, { user: { name, password }, path: '/assets' })
    await opened.page.getByRole('link', { name: 'Press 1' }).waitFor()
    return opened.page
  }

  test('shows a user without the permissions no action that would be refused', async () => {
    const viewer = await openAs('reader', ['inventory_read_asset_data', 'glb_hierarchy_read'])
    const { data } = await caller.inventory.listAssets({ query: { q: 'Robot' } })
    const asset = `/assets/${data[0]?.id}`
    const places = [
      ['/topology', viewer.getByRole('heading', { level: 1, name: 'Topology' })],
      [asset, viewer.getByRole('heading', { level: 1, name: 'Robot 1' })],
      [`${asset}?tab=relations`, viewer.getByRole('button', { name: 'Relation history' })],
      ['/assets', viewer.getByRole('link', { name: 'Press 1' })],
    ] as const
    for (const [path, shown] of places) {
      await follow(viewer, path)
      await shown.waitFor()
      assert.equal(await viewer.getByRole('button', { name: /^Export/ }).count(), 0, path)
    }
    assert.equal(await navigationTo(viewer, 'Import and export').count(), 0)
    await follow(viewer, '/files/import')
    await viewer.getByText('You need one of these permissions to open Import and export:').waitFor()
    await viewer.context().close()
  })

  test('shows a user that can only export the exports, and no export of relations', async () => {
    const exporter = await openAs('exporter', ['inventory_read_asset_data', 'glb_file_export'])
    await exporter.getByRole('button', { name: 'Export', exact: true }).waitFor()
    const { data } = await caller.inventory.listAssets({ query: { q: 'Robot' } })
    await follow(exporter, `/assets/${data[0]?.id}`)
    await exporter.getByRole('button', { name: 'Export', exact: true }).waitFor()
    await follow(exporter, `/assets/${data[0]?.id}?tab=relations`)
    await exporter.getByRole('button', { name: 'Relation history' }).waitFor()
    assert.equal(
      await exporter.locator('.asset-relations').getByRole('button', { name: 'Export', exact: true }).count(),
      0,
    )
    await navigationTo(exporter, 'Import and export').click()
    await exporter.getByText('No exports').waitFor()
    for (const name of ['Imports', 'Column mappings'])
      assert.equal(await exporter.getByRole('tab', { name }).count(), 0)
    assert.equal(await exporter.getByRole('button', { name: 'Import file' }).count(), 0)
    await exporter.context().close()
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})

async function textOf(file: Download): Promise<string> {
  return readFileSync(await file.path(), 'utf8')
}
