import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, assertAxeCleanEverywhere, type ConsoleBrowser, consoleOf, follow } from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder } from './platform.ts'

describe('topology and impact in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let admin: Caller
  let page: Page
  const ids: Record<string, string> = {}

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    admin = await callerOf(platform)
    await createPlant()
    ;({ page } = await consoleBrowser.open({ viewport: { width: 1440, height: 900 } }))
    await consoleBrowser.signIn(page)
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  /** Creates two sites. The first one has a cell with a switch, a controller with a module, and a panel. */
  async function createPlant(): Promise<void> {
    const names = ['SW01', 'PLC01', 'IO01', 'HMI01', 'SPARE01']
    const { data } = await admin.inventory.createAssets({
      headers: { prefer: 'wait=30' },
      body: {
        data: {
          assets: names.map((name, index) => ({
            functional_object_type: 'Device',
            name,
            ...(name === 'PLC01' && { operating_mode: { mode_name: 'stop' } }),
            asset_identifiers: [
              { asset_identifier_type: 'MacIdentifier', mac_address: `02:00:00:00:00:0${index + 1}` },
            ],
            connection_points: [
              { connection_point_type: 'Ipv4Connectivity', id: 'x1', ipv4_address: `10.0.${index % 2}.${index + 1}` },
            ],
          })),
        },
      },
    })
    const results = data.detail?.result as { assetId: string }[]
    for (const [index, name] of names.entries()) ids[name] = results[index]?.assetId ?? ''
    const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Production' } } })
    const nodes = [
      { key: 'site', name: 'Aarhus' },
      { key: 'cell', name: 'Welding cell', parentKey: 'site' },
      { key: 'other', name: 'Bilbao' },
    ]
    const { data: created } = await admin.hierarchy.createNodes({ params: { id: tree.id }, body: { data: { nodes } } })
    const nodeId = (key: string) => created.find((node) => node.key === key)?.id ?? ''
    const assign = (key: string, assets: readonly string[]) =>
      admin.hierarchy.assignAssets({
        params: { id: nodeId(key) },
        body: { data: { assetIds: assets.map((name) => ids[name] ?? '') } },
      })
    await assign('cell', ['SW01', 'PLC01', 'IO01', 'HMI01'])
    await assign('other', ['SPARE01'])
    for (const device of ['PLC01', 'HMI01', 'SPARE01']) await relate(device, 'is_connected_to', 'SW01')
    await relate('IO01', 'is_module_of', 'PLC01')
  }

  const relate = (from: string, predicate: string, to: string) =>
    admin.inventory.createRelation({
      body: {
        data: {
          subject: { type: 'asset', id: ids[from] ?? '' },
          predicate,
          object: { type: 'asset', id: ids[to] ?? '' },
        },
      },
    })

  const inside = (name: string) => page.getByRole('grid', { name: `Inside ${name}` })
  const places = () => page.getByRole('navigation', { name: 'Place in the topology' })

  test('opens aggregated, and a click on a group of the map looks inside', async () => {
    await follow(page, '/topology')
    await inside('All assets').getByText('Aarhus').waitFor()
    // Two sites are few, so their insides are shown at once.
    await page.locator('.map-canvas[data-drawn="3"]').waitFor()
    const box = (await page.locator('.map-canvas').boundingBox()) ?? assert.fail('the map is not visible')
    // The two sites are next to each other. The only cell of Aarhus is in the middle of the left one.
    await page.mouse.click(box.x + box.width * 0.27, box.y + box.height * 0.55)
    await inside('Welding cell').getByText('PLC01').waitFor()
    await places().getByRole('button', { name: 'Aarhus' }).waitFor()
    await places().getByRole('button', { name: 'All assets' }).click()
    await inside('All assets').getByText('Bilbao').waitFor()
  })

  test('shows the controllers in stop in each group, in the figures and in the legend, and lists them', async () => {
    await follow(page, '/topology')
    const rows = inside('All assets').getByRole('row')
    await rows.filter({ hasText: 'Aarhus' }).getByText('1 controller in stop (old)').waitFor()
    assert.equal(await rows.filter({ hasText: 'Bilbao' }).getByText('in stop').count(), 0)
    await page.getByRole('list', { name: 'Legend and filter' }).getByText('In stop (old)').waitFor()
    await page.getByText('1 not read for 24 h').waitFor()
    assert.equal(await page.getByLabel('Highlight').locator('option:checked').textContent(), 'Problems')
    await page.getByLabel('Highlight').selectOption({ label: 'In stop (1)' })
    await page.getByRole('link', { name: 'Controllers in stop' }).click()
    await page.waitForURL(/\/assets\?.*operating_mode/)
    await page.getByRole('link', { name: 'PLC01' }).waitFor()
  })

  test('opens groups and assets with the keyboard', async () => {
    await follow(page, '/topology')
    const rows = page.locator('.map-list [role=row][data-index]')
    await rows.filter({ hasText: 'Aarhus' }).focus()
    await page.keyboard.press('Enter')
    await inside('Aarhus').waitFor()
    await rows.filter({ hasText: 'Welding cell' }).focus()
    await page.keyboard.press('Enter')
    await inside('Welding cell').getByText('PLC01').waitFor()
    await rows.filter({ hasText: 'PLC01' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'PLC01', level: 2 }).waitFor()
    await page.getByRole('link', { name: 'Open', exact: true }).waitFor()
  })

  test('zooming with the wheel opens the group under the pointer', async () => {
    await follow(page, '/topology')
    await inside('All assets').waitFor()
    const box = (await page.locator('.map-canvas').boundingBox()) ?? assert.fail('the map is not visible')
    await page.mouse.move(box.x + box.width * 0.27, box.y + box.height * 0.55)
    for (let turn = 0; turn < 6; turn++) await page.mouse.wheel(0, -240)
    await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('.map-canvas')?.dataset.drawn) > 3)
  })

  test('groups by subnet and by switch, changes the layout, and filters', async () => {
    await follow(page, '/topology')
    await page.getByLabel('Group by').selectOption('subnet')
    await inside('All assets').getByRole('button', { name: '10.0.0.0/24', exact: true }).waitFor()
    for (const column of ['Place', 'IP addresses', 'Most important problem', 'Connected to'])
      await inside('All assets').getByRole('columnheader', { name: column }).waitFor()
    await inside('All assets').getByText('10.0.1.0/24 (3)').waitFor()
    await page.getByText('Point at a box to see its connections').waitFor()
    await page.getByLabel('Sort by').selectOption({ label: 'Address' })
    await page.getByText('The subnets are sorted by address.').waitFor()
    await page.waitForURL(/sort=address/)
    const subnets = await inside('All assets')
      .getByRole('button', { name: /^10\.0/ })
      .allInnerTexts()
    assert.deepEqual(subnets, ['10.0.0.0/24', '10.0.1.0/24'])
    await page.getByLabel('Sort by').selectOption({ label: 'Most important problem' })
    await page.getByText('Modules and software count in the subnet of their device.').waitFor()
    await page.getByLabel('Group by').selectOption('switch')
    await inside('All assets').getByText('SW01').waitFor()
    for (const layout of ['force', 'hierarchy', 'network']) {
      await page.getByLabel('Layout').selectOption(layout)
      await page.locator(`.map[data-layout="${layout}"]`).waitFor()
    }
    await page.getByRole('searchbox', { name: 'Filter' }).fill('PLC01')
    await page.keyboard.press('Enter')
    await inside('All assets').getByText('PLC01').waitFor()
    await inside('All assets').getByText('HMI01').waitFor({ state: 'detached' })
    await page.getByLabel('Show all assets').check()
    await page.locator('.map-canvas[data-drawn]').waitFor()
  })

  test('compares two moments on the timeline, with the mouse and with the keyboard', async () => {
    await follow(page, '/topology?span=day')
    const changed = page.getByRole('link', { name: 'Changed in 24 hours' })
    await changed.click()
    await page.getByRole('button', { name: '5 Added' }).waitFor()
    await page.getByText('5 assets differ').waitFor()
    assert.equal(await page.getByRole('button', { name: /^0 (Removed|Firmware)/ }).count(), 0)
    assert.equal(await page.getByLabel('Highlight').count(), 0)
    await page.getByText('5 differ', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Open as list' }).click()
    await page.getByText('5 assets', { exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: '5 Added' }).click()
    const handle = page.getByRole('slider', { name: 'Displayed time' })
    await handle.focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.getByText('No matching assets').waitFor()
    await page.getByRole('button', { name: 'Clear filter' }).click()
    await changed.click()
    const track = (await page.locator('.timeline-track').boundingBox()) ?? assert.fail('no timeline')
    await page.mouse.move(track.x + track.width * 0.5, track.y + 20)
    await page.mouse.down()
    await page.mouse.move(track.x + track.width * 0.999, track.y + 20, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('button', { name: '5 Added' }).waitFor()
    await page
      .getByRole('status')
      .filter({ hasText: /^From .* to now$/ })
      .waitFor({ state: 'attached' })
    assert.match((await page.getByRole('link', { name: 'Show in Activity' }).getAttribute('href')) ?? '', /from=/)
    const start = page.getByRole('textbox', { name: 'Start', exact: true })
    await start.fill('yesterday')
    await start.press('Enter')
    await page.getByText('Enter a date and a time such as 31 Jan 2026, 08:30').waitFor()
    await start.fill('31 Dec 2025, 08:30')
    await start.press('Enter')
    await page.waitForURL(/since=20(25-12|26-01)-/)
    assert.equal(await start.inputValue(), '31 Dec 2025, 08:30')
    await page.getByRole('button', { name: 'Close comparison' }).click()
    await page.waitForURL((url) => !url.searchParams.has('since'))
  })

  test('answers what is lost if a switch fails, exports it and saves a report', async () => {
    await follow(page, `/topology?asset=${ids.SW01}`)
    await page.getByRole('button', { name: 'Impact' }).click()
    await page.getByRole('heading', { name: '4 assets depend on SW01' }).waitFor()
    await page.getByRole('radio', { name: 'What if this fails' }).check()
    await page.getByRole('heading', { name: '4 assets are affected if SW01 fails' }).waitFor()
    await page.getByRole('link', { name: 'Aarhus › Welding cell' }).waitFor()
    const downloaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    assert.equal((await downloaded).suggestedFilename(), 'Impact of SW01.csv')
    await page.getByRole('button', { name: 'Save as report' }).click()
    await page.getByRole('link', { name: 'Open report' }).click()
    await page.getByRole('heading', { name: /^SW01 /, level: 1 }).waitFor()
    await assertAxeClean(page, 'impact report')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No reports yet').waitFor()
    await follow(page, `/assets/${ids.PLC01}?tab=impact`)
    await page.getByRole('heading', { name: '1 asset depends on PLC01' }).waitFor()
    await page.getByRole('row', { name: /^IO01 .*Not monitored Module of this asset$/ }).waitFor()
    await page.getByRole('region', { name: 'Status' }).getByText('1 asset', { exact: true }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Show impact' }).count(), 0, 'a link to the open tab')
    assert.equal(
      await page.getByRole('link', { name: 'Show on the map' }).getAttribute('href'),
      `/console/topology?asset=${ids.PLC01}&show=depends`,
    )
    await page.getByRole('radio', { name: 'What if this fails' }).check()
    await page.getByText('This asset is in stop (old)').waitFor()
  })

  test('shows the path between two assets', async () => {
    await follow(page, `/topology?asset=${ids.SW01}`)
    await page.getByRole('button', { name: 'Path to…' }).click()
    await page.getByRole('combobox', { name: 'Target asset' }).fill('IO01')
    await page.getByRole('option', { name: 'IO01' }).click()
    await page.getByRole('button', { name: 'Show path' }).click()
    await page.getByText('From SW01 to IO01').waitFor()
    assert.deepEqual(await page.locator('.path-steps > li').allInnerTexts(), [
      'SW01\n↑ is_connected_to',
      'PLC01\n↑ is_module_of',
      'IO01',
    ])
  })

  test('the topology is accessible in light and dark mode, on a desktop and on a phone', async () => {
    await follow(page, '/topology')
    await inside('All assets').waitFor()
    await assertAxeCleanEverywhere(page, 'topology')
    await follow(page, '/topology?by=switch')
    await inside('All assets').waitFor()
    await assertAxeCleanEverywhere(page, 'topology by switch')
    await follow(page, `/topology?asset=${ids.SW01}&show=fails&compare=yes`)
    await page.getByRole('heading', { name: '4 assets are affected if SW01 fails' }).waitFor()
    await assertAxeCleanEverywhere(page, 'impact in the topology')
  })

  /** Creates devices whose MAC addresses contain the digit of their network. */
  async function createDevices(names: readonly string[], digit: number): Promise<void> {
    const { data } = await admin.inventory.createAssets({
      headers: { prefer: 'wait=30' },
      body: {
        data: {
          assets: names.map((name, index) => ({
            functional_object_type: 'Device',
            name,
            asset_identifiers: [
              { asset_identifier_type: 'MacIdentifier', mac_address: `02:00:00:00:00:${digit}${index + 1}` },
            ],
          })),
        },
      },
    })
    const results = (data.detail?.result ?? []) as { assetId: string }[]
    for (const [index, name] of names.entries()) ids[name] = results[index]?.assetId ?? ''
  }

  test('names the uplink of each switch, counts its controllers in stop, and opens the uplink', async () => {
    await createDevices(['SW02', 'SEN01', 'SEN02'], 1)
    for (const device of ['SEN01', 'SEN02', 'SW01']) await relate(device, 'is_connected_to', 'SW02')
    await follow(page, '/topology?by=switch')
    const row = (name: string) => page.locator('.map-list [role=row][data-index]').filter({ hasText: name }).first()
    await page.getByRole('heading', { name: 'Switches (2)' }).waitFor()
    await row('1 controller in stop (old)').getByText('None').waitFor()
    const box = (await page.locator('.map-canvas').boundingBox()) ?? assert.fail('the map is not visible')
    await page.mouse.move(box.x + box.width / 2, box.y + 28)
    await page.locator('.map-tooltip').getByText('2 switches, 8 assets').waitFor()
    assert.deepEqual(
      await page.getByRole('list', { name: 'Legend and filter' }).getByRole('listitem').allInnerTexts(),
      ['In stop (old): mode not read in the last 24 h', 'Network connection'],
    )
    await row('SW02').getByRole('button', { name: 'SW01', exact: true }).click()
    await inside('SW01').getByText('PLC01').waitFor()
  })

  test('states that no connection between several networks is known', async () => {
    const note = page.getByText('No known connection between the 2 networks')
    await follow(page, '/topology?by=switch')
    await inside('All assets').waitFor()
    assert.equal(await note.count(), 0)
    await createDevices(['SW03', 'SEN03', 'SEN04', 'SEN05'], 2)
    for (const device of ['SEN03', 'SEN04', 'SEN05']) await relate(device, 'is_connected_to', 'SW03')
    await follow(page, '/topology')
    await page.reload()
    await page.getByLabel('Group by').selectOption('switch')
    await note.waitFor()
    await assertAxeCleanEverywhere(page, 'topology with several networks')
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
