import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, assertAxeCleanEverywhere, type ConsoleBrowser, consoleOf, follow } from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder } from './platform.ts'

describe('asset pages and topology in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let admin: Caller
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    admin = await callerOf(platform)
    ;({ page } = await consoleBrowser.open())
    await consoleBrowser.signIn(page)
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function create(asset: Record<string, unknown>): Promise<string> {
    const { data } = await admin.inventory.createAsset({
      headers: { prefer: 'wait=30' },
      body: { data: { asset: { functional_object_type: 'Device', ...asset } } },
    })
    return (data.detail?.result as { assetId: string } | undefined)?.assetId ?? assert.fail('the asset was not created')
  }

  const named = (name: string, mac: string) =>
    create({ name, asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac }] })

  const relate = (from: string, predicate: string, to: string) =>
    admin.inventory.createRelation({
      body: { data: { subject: { type: 'asset', id: from }, predicate, object: { type: 'asset', id: to } } },
    })

  const nodes = () => page.getByRole('region', { name: 'All relations' })

  test('adds and deletes a relation, and still shows it at an earlier point in time', async () => {
    const id = await named('Conveyor drive', '02:00:00:00:00:01')
    await named('Cell controller', '02:00:00:00:00:02')
    await follow(page, `/assets/${id}`)
    await page.getByRole('tab', { name: 'Relations' }).click()
    await page.getByText('No relations', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Add relation' }).click()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('Choose a relation type').waitFor()
    await page.getByRole('combobox', { name: 'Relation type' }).fill('is_controlled_by')
    await page.getByRole('combobox', { name: 'Related asset' }).fill('cell contr')
    await page.getByRole('option', { name: 'Cell controller' }).click()
    await page.getByRole('button', { name: 'Add', exact: true }).click()

    await nodes().getByText('Cell controller').waitFor()
    await page.locator('.relation-map[data-relations="1"]').waitFor()
    const { data } = await admin.inventory.readGraph({ params: { id }, query: {} })
    const relatedAt = Date.parse(data.edges[0]?.createdTimestamp ?? '')

    await page.getByRole('button', { name: /^Delete relation: controlled by Cell controller/ }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No relations', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'View the asset at an earlier time…' }).click()
    const slider = page.getByRole('slider', { name: 'Version', exact: true })
    await page.waitForFunction(
      (time) => Number((document.querySelector('.time-track input') as HTMLInputElement).max) > time,
      relatedAt + 50,
    )
    await slider.fill(String(relatedAt + 1))
    await page.getByText(/^Viewing .* \(read-only\)/).waitFor()
    await nodes().getByText('Cell controller').waitFor()
    assert.match(page.url(), /at=20/)
    assert.equal(await page.getByRole('button', { name: 'Add relation' }).count(), 0)
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByText('No relations', { exact: true }).waitFor()
  })

  test('lists added and removed relations without a reload, and opens the asset as it was before a removal', async () => {
    const id = await named('Line controller', '02:00:00:00:06:01')
    const drive = await named('Drive of line 6', '02:00:00:00:06:02')
    const valve = await named('Valve of line 6', '02:00:00:00:06:03')
    await follow(page, `/assets/${id}?tab=history`)
    await page.locator('.history').waitFor()
    await page.getByRole('radio', { name: 'Relations' }).check()
    await page.getByText('No relation history').waitFor()
    await assertAxeClean(page, 'empty relation history')

    const { data: relations } = await relate(drive, 'is_controlled_by', id)
    await relate(valve, 'is_controlled_by', id)
    const table = page.getByRole('grid', { name: 'Relation history' })
    const change = (what: string) => table.getByRole('row', { name: new RegExp(what) })
    await change('Added Incoming controlled by Drive of line 6').waitFor()
    await change('Added Incoming controlled by Valve of line 6').waitFor()
    await admin.inventory.deleteRelations({ body: { data: { ids: relations.map((relation) => relation.id) } } })
    await change('Removed Incoming controlled by Drive of line 6').waitFor()
    await table.locator('[data-index="0"]', { hasText: 'Removed' }).waitFor()

    await admin.inventory.deleteAssets({ body: { data: { ids: [valve] } } })
    const gone = change('Removed Incoming controlled by Valve of line 6').getByRole('link', {
      name: 'Valve of line 6',
    })
    assert.equal(await gone.getAttribute('href'), `/console/assets/${valve}`)
    await page.getByRole('button', { name: 'View previous version: Drive of line 6' }).click()
    await page.getByText(/^Viewing .* \(read-only\)/).waitFor()
    await nodes().getByText('Drive of line 6').waitFor()
    await page.getByRole('button', { name: 'Relation history' }).click()
    await change('Removed Incoming controlled by Drive of line 6').waitFor()
  })

  test('edits fields in place, onboards and deletes an asset, and shows its history', async () => {
    await admin.inventory.createCustomProperty({ body: { data: { name: 'inspected', data_type: 'date' } } })
    const id = await named('Old panel', '02:00:00:00:00:03')
    await follow(page, `/assets/${id}`)
    await page.getByRole('button', { name: 'Edit inspected' }).click()
    await page.getByLabel('inspected').fill('2026-03-01')
    await page.keyboard.press('Enter')
    await page.getByText('2026-03-01').waitFor()
    await page.getByRole('button', { name: 'Edit Name' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Panel of line 4')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Panel of line 4', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Edit Description' }).click()
    await page.getByRole('textbox', { name: 'Description' }).fill('left of the consoleBrowser\nbehind the press')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Clear Description' }).waitFor()
    await page.getByRole('button', { name: 'Onboard' }).click()
    await page.getByRole('region', { name: 'States' }).getByText('Onboarded').waitFor()
    assert.equal(await page.locator('.page-header').getByText('Onboarded').count(), 0)
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByText('Management state: New → Onboarded').waitFor()
    const { data } = await admin.inventory.readAsset({ params: { id }, query: {} })
    assert.deepEqual([data.name, data.description], ['Panel of line 4', 'left of the consoleBrowser\nbehind the press'])

    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('heading', { name: 'Assets', level: 1 }).waitFor()
    await follow(page, `/assets/${id}`)
    await page.getByText('This asset was deleted').waitFor()
    await page.getByRole('button', { name: 'View last version' }).click()
    await page.getByText('2026-03-01').waitFor()
  })

  test('shows the operating mode of a device that nothing checks with its age, and why it offers a scan', async () => {
    const id = await create({
      name: 'Stopped controller',
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:03:09' }],
      operating_mode: { mode_name: 'stop' },
    })
    await admin.inventory.setManagementState({
      params: { id },
      headers: { prefer: 'wait=30' },
      body: { data: { state_value: 'regarded' } },
    })
    await follow(page, `/assets/${id}`)
    const status = page.getByRole('region', { name: 'Status' })
    await status.getByText(/^Stop \(set .*\)$/).waitFor()
    await status.getByText('By import or API').waitFor()
    await page.getByText('No gateway has found this device').waitFor()
    await page.getByRole('link', { name: 'Find it with a scan' }).waitFor()
    assert.equal(await page.getByRole('tab', { name: 'Live' }).count(), 0, 'a tab without a connection')
    await follow(page, `/assets/${id}?tab=device`)
    await page.getByText('No live connection').waitFor()

    // The start page counts the same mode as not read, until a check reaches the device.
    // The page is loaded again, because it shows the first steps if it was open before the plant had devices.
    await page.goto('/console/')
    const step = page.getByRole('link', { name: /^1 controller in stop/ })
    await step.getByText(/^Not read for 24 h/).waitFor()
    await page.getByRole('link', { name: /^Controllers in stop 1 1 not read for 24 h/ }).waitFor()
    await admin.inventory.setReachabilityState({
      params: { id },
      headers: { prefer: 'wait=30' },
      body: { data: { state_value: 'reached' } },
    })
    await page.reload()
    await step.getByText(/^All were read in the last 24 hours/).waitFor()
    await page.getByRole('link', { name: /^Controllers in stop 1 1 now/ }).waitFor()
  })

  test('lists the controllers in stop with one click on their number, and all assets with a second click', async () => {
    await follow(page, '/assets')
    const inStop = page
      .getByRole('toolbar', { name: 'Assets with problems' })
      .getByRole('button', { name: 'In stop 1' })
    await inStop.click()
    await page.getByText('1 asset', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Stopped controller' }).waitFor()
    assert.equal(await inStop.getAttribute('aria-pressed'), 'true')
    assert.equal(await page.getByRole('button', { name: /^Remove the filter/ }).count(), 0, 'the filter is shown twice')
    await assertAxeClean(page, 'assets in stop')
    await inStop.click()
    await page.getByText(/^\d+ assets$/).waitFor()
    assert.equal(await inStop.getAttribute('aria-pressed'), 'false')
  })

  test('merges possible duplicates and undoes the merge', async () => {
    const macs = ['02:00:00:00:04:01', '02:00:00:00:04:02']
    const id = await named('Press', macs[0] ?? '')
    await named('Press again', macs[1] ?? '')
    const asset_identifiers = macs.map((mac_address) => ({ asset_identifier_type: 'MacIdentifier', mac_address }))
    await create({ asset_identifiers })
    const { data } = await admin.inventory.listDuplicates({ query: { asset: id } })
    const other = data[0]?.asset.id === id ? data[0]?.other : data[0]?.asset
    await follow(page, `/assets/${id}?tab=identity`)
    await page.getByRole('link', { name: other?.name ?? '' }).waitFor()
    await page.getByRole('button', { name: 'Merge…', exact: true }).click()
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByText('Merged into this asset').waitFor()
    await page.getByText('No possible duplicates').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone', { exact: true }).waitFor()
    const matches = page.getByRole('region', { name: 'Match history' })
    await matches.getByText('New asset: no existing asset had these identifiers.').waitFor()
    assert.equal(
      (await admin.inventory.readAsset({ params: { id: other?.id ?? '' }, query: {} })).data.name,
      other?.name,
    )
  })

  test('shows the matched identifiers of an asset, and splits the asset', async () => {
    const mac = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:05:01' }
    const tag = { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: 'T-5' }
    const id = await create({ name: 'Two in one', asset_identifiers: [mac, tag] })
    await create({ name: 'Two in one, seen again', asset_identifiers: [tag] })
    await follow(page, `/assets/${id}?tab=identity`)
    const matches = page.getByRole('region', { name: 'Match history' })
    await matches.getByText('Custom identifier').waitFor()
    await assertAxeClean(page, 'identity')
    await page.getByRole('button', { name: 'Split…' }).click()
    await page.getByRole('button', { name: 'Split', exact: true }).click()
    await page.getByText('Select at least one identifier').waitFor()
    await page.getByRole('checkbox', { name: 'Custom identifier tag T-5' }).check()
    await page.getByLabel('Name of the new asset').fill('The second')
    await assertAxeClean(page, 'split')
    await page.getByRole('button', { name: 'Split', exact: true }).click()
    await page.getByRole('heading', { name: 'The second', level: 1 }).waitFor()
    const left = await admin.inventory.readIdentifiers({ params: { id } })
    assert.deepEqual(left.data, [mac])
  })

  test('never executes scripts that are stored in the fields of an asset', async () => {
    const evil = (where: string) =>
      `<img src=x onerror="globalThis.planted='${where}'"><script>planted()</script>${where}`
    const { data: property } = await admin.inventory.createCustomProperty({
      body: { data: { name: evil('property') } },
    })
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: evil('group') } } })
    const id = await create({
      name: evil('name'),
      description: evil('description'),
      access_group: group.name,
      asset_identifiers: [
        { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:02:01' },
        {
          asset_identifier_type: 'ProductInstanceIdentifier',
          vendor: evil('vendor'),
          article_number: evil('article'),
          serial_number: evil('serial'),
        },
      ],
      product_instance_information: {
        serial_number: evil('serial'),
        manufacturer_product: {
          manufacturer: { name: evil('maker') },
          product_id: evil('product'),
          product_name: evil('product name'),
          product_family: evil('family'),
          product_version: evil('version'),
        },
      },
      connection_points: [
        {
          connection_point_type: 'EthernetPort',
          mac_address: '02:00:00:00:02:01',
          id: evil('point'),
          name: evil('port'),
        },
      ],
      software_components: [
        {
          software_component_type: 'SoftwareArtifactComponent',
          artifact: {
            functional_object_type: 'SoftwareArtifact',
            name: evil('software'),
            is_firmware: true,
            asset_identifiers: [
              {
                asset_identifier_type: 'SoftwareIdentifier',
                name: evil('firmware'),
                version: evil('firmware version'),
              },
            ],
          },
        },
      ],
      location: [{ location_type: 'Okz', location_identifier: evil('place') }],
      instance_annotations: [{ key: evil('key'), value: evil('value') }],
    })
    const headers = { prefer: 'wait=30' }
    await admin.inventory.setResponsible({ params: { id }, headers, body: { data: { responsible: evil('person') } } })
    await admin.inventory.setPropertyValues({
      headers,
      body: { data: [{ asset_id: id, key: property.key, value: evil('property value') }] },
    })
    await relate(id, evil('predicate'), await named('Neighbour', '02:00:00:00:02:02'))

    const assertNotInterpreted = async (where: string) => {
      const measured = await page.evaluate(() => ({
        ran: (globalThis as { planted?: string }).planted,
        images: document.querySelectorAll('img[src="x"]').length,
        scripts: [...document.scripts].filter((script) => script.textContent?.includes('planted')).length,
      }))
      assert.deepEqual(measured, { ran: undefined, images: 0, scripts: 0 }, where)
    }
    for (const path of ['/assets', '/inbox']) {
      await follow(page, path)
      await page.getByText(evil('name')).first().waitFor()
      await assertNotInterpreted(path)
    }
    for (const [tab, shown] of [
      ['overview', 'value'],
      ['relations', 'predicate'],
      ['identity', 'vendor'],
      ['history', 'name'],
      ['device', 'name'],
      ['jobs', 'name'],
    ] as const) {
      await follow(page, `/assets/${id}?tab=${tab}`)
      await page.locator(`[data-tab=${tab}][aria-selected=true]`).waitFor()
      await page.getByRole('tabpanel').locator('.card, .graph, .history, .empty-state').first().waitFor()
      await page.getByText(evil(shown)).first().waitFor()
      await assertNotInterpreted(tab)
    }
    await follow(page, `/assets/${id}?tab=history`)
    await page.getByRole('group').last().locator('summary').click()
    await page.getByRole('cell', { name: evil('description') }).waitFor()
    await assertNotInterpreted('history')
    await page.getByRole('radio', { name: 'Relations' }).check()
    await page.getByText(evil('predicate')).waitFor()
    await assertNotInterpreted('relation history')
    // The console keeps a loaded topology, so the page is reloaded.
    await page.goto(`/console/topology?asset=${id}`)
    await page.getByRole('heading', { name: evil('name'), level: 2 }).waitFor()
    await page.locator('.map-canvas[data-drawn]').waitFor()
    await assertNotInterpreted('topology')
  })

  test('asset pages and topology are accessible in light and dark mode, on a desktop and on a phone', async () => {
    const id = await named(
      'A device with a name that is as long as names of devices are in plants that grew',
      '02:00:00:00:03:01',
    )
    await relate(id, 'is_part_of', await named('A line', '02:00:00:00:03:02'))
    await follow(page, `/assets/${id}`)
    for (const tab of ['Overview', 'Relations', 'Impact', 'Identity', 'Credentials', 'History', 'Jobs']) {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByRole('tabpanel').locator('.card, .graph, .history, .empty-state').first().waitFor()
      await assertAxeCleanEverywhere(page, tab)
    }
    await follow(page, `/assets/${id}?tab=history&view=relations`)
    await page.getByRole('row', { name: /Added Outgoing part of A line/ }).waitFor()
    await assertAxeCleanEverywhere(page, 'relation history')
    // The console keeps a loaded topology, so the page is reloaded.
    await page.goto('/console/topology')
    await page.getByRole('grid', { name: 'Inside All assets' }).waitFor()
    await assertAxeCleanEverywhere(page, 'topology')
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
