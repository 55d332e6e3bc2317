import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, assertAxeCleanEverywhere, type ConsoleBrowser, consoleOf, follow, wide } from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder } from './platform.ts'
import { clickAsPerson } from './reachability.ts'

/** A phone. */
const phone = { width: 390, height: 844 }

describe('activity in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    caller = await callerOf(platform)
    await change()
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open({ acceptDownloads: true }))
    await consoleBrowser.signIn(page)
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const headers = { prefer: 'wait=30' }

  /** Creates assets in one request, and changes them: one alone, and all of them at once. */
  async function change(): Promise<void> {
    const assets = ['PLC01', 'PLC02', 'Drive 7'].map((name) => ({
      functional_object_type: 'Device',
      name,
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name.replace(' ', '-') }],
    }))
    await caller.inventory.createAssets({ headers, body: { data: { assets } } })
    const { data } = await caller.inventory.listAssets({
      query: { sort: 'name', filter: "functional_object_type eq 'Device'" },
    })
    const ids = data.map(({ id }) => String(id))
    const plc = data.find(({ name }) => name === 'PLC01')
    for (const version of ['3.0.1', '3.1.0'])
      await caller.inventory.setFirmwareVersion({
        headers,
        params: { id: String(plc?.id) },
        body: { data: { version } },
      })
    await caller.inventory.setResponsibles({
      headers,
      body: { data: ids.map((asset_id) => ({ asset_id, responsible: 'line 1 team' })) },
    })
    await caller.authorization.createAccessGroup({ body: { data: { name: 'hall 3' } } })
  }

  const row = (text: string | RegExp) => page.locator('.activity-row').filter({ hasText: text })
  const button = (name: string | RegExp) => page.getByRole('button', { name })

  test('shows in two clicks what changed, as sentences with names and values', async () => {
    await clickAsPerson(page.locator('ix-menu-item').filter({ hasText: 'Activity' }))
    await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
    await clickAsPerson(page.getByText('Last night', { exact: true }))
    assert.match(page.url(), /range=night/)
    await page.getByText('No activity in this time').or(page.locator('.activity-row').first()).first().waitFor()
    await clickAsPerson(page.getByText('24 hours', { exact: true }))
    await row('changed the firmware of PLC01: 3.0.1 → 3.1.0').waitFor()
    await row('created the access group hall 3').waitFor()
    await row('set the responsible person of 3 assets to line 1 team').waitFor()
    await assertAxeCleanEverywhere(page, 'activity')
  })

  test('opens a group, the details of a change, and the asset', async () => {
    const group = row('set the responsible person of 3 assets')
    await clickAsPerson(group.getByRole('button', { name: 'Show 3 changes' }))
    await group.getByText('the responsible person of Drive 7').waitFor()
    await clickAsPerson(
      row('changed the firmware of PLC01')
        .first()
        .getByRole('button', { name: /^Details/ }),
    )
    const panel = page.getByRole('complementary', { name: 'Details' })
    await panel.getByRole('cell', { name: '3.0.1' }).waitFor()
    await clickAsPerson(panel.getByText('Raw data (JSON)'))
    await panel.getByText('last_modified_timestamp').first().waitFor()
    await assertAxeClean(page, 'details of a change')
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    await clickAsPerson(row('created the access group hall 3').getByRole('button', { name: /^Details/ }))
    await clickAsPerson(panel.getByRole('button', { name: 'Verify integrity' }))
    await panel.getByText(/^All \d+ entries are unchanged$/).waitFor()
    await clickAsPerson(panel.getByRole('button', { name: 'Close' }))
  })

  test('filters by kind, and removes the filter', async () => {
    await page.getByRole('combobox', { name: 'What', exact: true }).selectOption({ label: 'Firmware changes' })
    await row('firmware of PLC01').first().waitFor()
    await row('hall 3').waitFor({ state: 'detached' })
    await clickAsPerson(button('Remove the filter What: Firmware changes'))
    await row('hall 3').waitFor()
    const asset = page.getByRole('combobox', { name: 'Asset', exact: true })
    await asset.fill('Drive')
    await assertAxeClean(page, 'list of assets in the filters')
    await clickAsPerson(page.getByRole('option', { name: /Drive 7/ }))
    await button('Remove the filter Asset: Drive 7').waitFor()
    assert.equal(await asset.inputValue(), 'Drive 7')
    await row('hall 3').waitFor({ state: 'detached' })
    await clickAsPerson(button('Remove the filter Asset: Drive 7'))
    await row('hall 3').waitFor()
    await clickAsPerson(button('More filters'))
    await button('Choose a node').waitFor()
    await clickAsPerson(button('More filters'))
  })

  test('selects a range in the histogram with the keyboard and with the mouse', async () => {
    const histogram = page.getByRole('slider', { name: 'Activity over time' })
    await histogram.focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await button('Show the whole range').waitFor()
    await row('firmware of PLC01').first().waitFor()
    await page.keyboard.press('Escape')
    await button('Show the whole range').waitFor({ state: 'detached' })
    const box = await histogram.boundingBox()
    assert.ok(box !== null)
    await page.mouse.move(box.x + 5, box.y + 40)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width / 3, box.y + 40, { steps: 4 })
    await page.mouse.up()
    await page.getByText('No activity in this time').waitFor()
    await clickAsPerson(button('Show the whole range'))
    await row('firmware of PLC01').first().waitFor()
  })

  test('reaches the first entry with the keyboard in a few steps', async () => {
    await page.getByRole('heading', { level: 1 }).focus()
    let steps = 0
    const isInRow = () => page.evaluate(() => document.activeElement?.closest('.activity-row') !== null)
    while (!(await isInRow()) && steps < 10) {
      await page.keyboard.press('Tab')
      steps += 1
    }
    assert.ok(steps <= 8, `${steps} steps`)
  })

  test('exports the entries as CSV', async () => {
    await clickAsPerson(button('Export'))
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      clickAsPerson(page.getByRole('menuitem', { name: 'CSV for spreadsheets' })),
    ])
    const text = readFileSync(await file.path(), 'utf8')
    assert.match(text, /PLC01.*firmware: 3\.0\.1 → 3\.1\.0/)
  })

  test('opens from the old addresses, and shows the columns of the last change in the list of assets', async () => {
    await page.goto('/console/audit')
    await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
    await page.goto('/console/events')
    await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
    await follow(page, '/assets?columns=name,last_change/what,last_change/by')
    await page
      .getByRole('gridcell', { name: /responsible person .*→ line 1 team/ })
      .first()
      .waitFor()
  })

  test('is used on a phone in dark colours, in German', async () => {
    await page.setViewportSize(phone)
    await page.emulateMedia({ colorScheme: 'dark' })
    await follow(page, '/activity')
    await row('firmware of PLC01').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('deutsch')
    await page.keyboard.press('Enter')
    await row('hat die Firmware von PLC01 geändert: 3.0.1 → 3.1.0').waitFor()
    await clickAsPerson(
      row('hat die Firmware von PLC01')
        .first()
        .getByRole('button', { name: /^Details/ }),
    )
    await page.getByRole('complementary', { name: 'Details' }).getByText('Vorher').first().waitFor()
    await assertAxeClean(page, 'details on a phone', 'contrast')
    await page.keyboard.press('Escape')
    await page.setViewportSize(wide)
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
