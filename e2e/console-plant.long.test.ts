import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import {
  assertAxeClean,
  assertAxeCleanEverywhere,
  type ConsoleBrowser,
  consoleOf,
  follow,
  narrow,
  navigationTo,
  wide,
} from './console.ts'
import { assertUsable, overlaysOf } from './console-overlays.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { assertOverlayReachable, clickAsPerson, isReachable } from './reachability.ts'
import { plantGateway } from './shop-floor.ts'

/** Returns a cross-site scripting attack for a text field. */
const attack = (field: string) => `<img src=x onerror="globalThis.planted='${field}'"><script>planted</script>${field}`

/** The time limit for a scan of the simulated plant on a busy machine. */
const scanMs = 240_000

describe('start page, inbox and assets in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([
      startPlatform({ home: folder.path, environment: plantGateway }),
      openBrowser(),
    ])
    consoleBrowser = consoleOf(platform, browser)
    caller = await callerOf(platform)
    ;({ page } = await consoleBrowser.open())
    await consoleBrowser.signIn(page)
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  /** Creates a device with these identifiers. */
  async function plant(identifiers: readonly string[], fields: Record<string, unknown>): Promise<void> {
    const asset = {
      functional_object_type: 'device',
      functional_object_schema_url: 'https://industrial-assets.io/schemas/iah/base-schema/released/v1/iah-base.json',
      asset_identifiers: identifiers.map((value) => ({
        asset_identifier_type: 'CustomIdentifier',
        name: 'tag',
        value,
      })),
      ...fields,
    }
    await caller.inventory.createAsset({ headers: { prefer: 'wait=30' }, body: { data: { asset } } })
  }

  /** Returns the rows whose assets are loaded. The grid also shows empty rows while it loads, and ignores keys on them. */
  const rows = (page: Page) => page.locator('.grid-body [role=row]:has(input:enabled)')
  const waitForCount = (page: Page, text: RegExp) => page.locator('.assets-count').filter({ hasText: text }).waitFor()

  test('guides the user from an empty plant to a scan, the inbox and onboarded assets', async () => {
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    await assertAxeClean(page, 'first steps')
    await page.getByRole('button', { name: /Scan with/ }).click({ timeout: scanMs })
    await page.getByRole('heading', { name: 'Devices found so far' }).waitFor()
    // Found devices appear in the list and on the map while the scan runs.
    await page.getByRole('list', { name: 'Newest devices' }).getByRole('link').first().waitFor({ timeout: scanMs })
    await page.locator('.scan-map .map-canvas[data-drawn]:not([data-drawn="0"])').waitFor({ timeout: scanMs })
    await assertAxeClean(page, 'first scan')
    await page.getByRole('link', { name: 'Open inbox' }).click({ timeout: scanMs })
    // Rows that are still loading cannot be selected.
    await rows(page).first().getByRole('checkbox', { disabled: false }).waitFor()
    await page.getByRole('checkbox', { name: 'Select all' }).click()
    const isAll = page.getByRole('checkbox', { name: 'Select all', checked: true })
    const others = page.getByRole('button', { name: /Select all \d+/ })
    await isAll.or(others).first().waitFor()
    if (await others.isVisible()) await others.click()
    await isAll.waitFor()
    await page.getByRole('toolbar').getByRole('button', { name: 'Onboard without node' }).click()
    await page.getByText('Inbox empty').waitFor({ timeout: scanMs })
    // The inbox removes the rows before the server has onboarded the assets.
    await until('the assets are onboarded', async () => {
      const { meta } = await caller.inventory.listAssets({
        query: { filter: "management_state/state_value eq 'regarded'", limit: 1 },
      })
      return (meta.totalElements ?? 0) > 20
    })
  })

  test('the start page leads to the changes, the outdated devices and the assets of each share', async () => {
    await follow(page, '/')
    const card = (name: string) => page.getByRole('region', { name })
    await card('Last 24 hours').getByRole('listitem').first().waitFor()
    await card('Millwright gateways').getByText('Online').waitFor()
    const bars = card('Manufacturers').getByRole('listitem')
    await bars.filter({ hasText: '%' }).first().waitFor()
    await card('Firmware by product').getByRole('img').first().waitFor()
    await card('Firmware by product').getByRole('link').nth(1).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/console\/assets\?filter=/)
    await waitForCount(page, /\d assets?/)
    await follow(page, '/')
    // Without monitoring, a figure shows how many devices are not monitored, and a next step leads to the monitoring.
    await page.getByRole('link', { name: /^Not monitored \d+ No monitoring task yet/ }).waitFor()
    // The recommendations are closed, because the scan had errors.
    await page.getByRole('link', { name: /^The scan "Simulated plant: .*" had \d+ errors?/ }).waitFor()
    const recommendations = page.getByRole('button', { name: /^\d recommendations?$/ })
    await recommendations.click()
    assert.equal(await recommendations.getAttribute('aria-expanded'), 'true')
    await page.getByRole('link', { name: 'Set up monitoring' }).click()
    await page.waitForURL(/\/console\/monitoring/)
    await page.getByRole('heading', { level: 1, name: 'Monitoring' }).waitFor()
    await follow(page, '/')
    await page.getByRole('link', { name: 'All activity' }).click()
    await page.waitForURL(/\/console\/activity\?range=visit/)
  })

  test('shows new assets without a reload, and renders markup in their fields as text', async () => {
    await follow(page, '/inbox')
    await page.getByText('Inbox empty').waitFor()
    const fields = ['name', 'description', 'serial', 'product', 'vendor']
    const [name, description, serial, product, vendor] = fields.map(attack)
    await plant(['planted'], {
      name,
      description,
      product_instance_information: {
        serial_number: serial,
        manufacturer_product: { product_name: product, manufacturer: { name: vendor } },
      },
    })
    await page
      .getByText(name ?? '')
      .first()
      .waitFor()
    for (const path of ['/', '/assets?sort=-created_timestamp&columns=name,description', '/inbox', '/assets?q=img']) {
      await follow(page, path)
      await page.getByText('<img src=x onerror=').first().waitFor()
    }
    await page.keyboard.press('Control+k')
    await page.keyboard.type('script')
    await page.getByRole('option').filter({ hasText: '<img' }).waitFor()
    assert.equal(await page.evaluate(() => (globalThis as { planted?: string }).planted), undefined)
    await page.keyboard.press('Escape')
  })

  test('shows possible duplicates with their shared identifiers, and merges them', async () => {
    await plant(['left'], { name: 'Left double' })
    await plant(['right'], { name: 'Right double' })
    await plant(['left', 'right'], {})
    // The start page keeps the number of duplicates for some seconds, so the page is reloaded.
    await page.goto('/console/')
    await page.getByRole('button', { name: /^\d recommendations?$/ }).click()
    await page.getByRole('link', { name: /Review 1 possible duplicate/ }).click()
    await page
      .getByText('Reported together in one scan: Custom identifier tag left, Custom identifier tag right')
      .waitFor()
    await assertAxeClean(page, 'duplicates')
    await page.getByRole('button', { name: 'Merge' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Merge' }).click()
    await page.getByText('No duplicates').waitFor()
    const matches = await caller.inventory.listAssets({ query: { filter: "endswith(name, ' double')" } })
    assert.equal(matches.meta.totalElements, 1)
  })

  test('filters assets by conditions or expression, groups and sorts them, and keeps the view in the URL', async () => {
    await follow(page, '/assets')
    await rows(page).first().waitFor()
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('button', { name: 'Add condition' }).click()
    await page.getByLabel('Property').selectOption({ label: 'Type' })
    await page.getByLabel('Comparison').selectOption({ label: 'is' })
    await page.getByLabel('Value').selectOption('Gateway')
    const text = page.getByLabel('Filter expression')
    assert.equal(await text.inputValue(), "functional_object_type eq 'Gateway'")
    await page.getByRole('button', { name: 'Apply' }).click()
    await waitForCount(page, /^1 asset$/)
    await assertFewTabStops(page)
    await clickAsPerson(page.getByRole('button', { name: 'Remove the filter Type is Gateway' }))
    await waitForCount(page, /\d\d+ assets/)
    await text.fill("functional_object_type eq 'Gateway' or (name ne null and not (name eq 'x'))")
    await page.getByText('The filter is too complex for the builder').waitFor()
    await text.fill("nmae eq 'x'")
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('alert').getByText('unknown_property').waitFor()
    await page.getByRole('button', { name: 'Clear', exact: true }).click()
    await waitForCount(page, /\d\d+ assets/)
    await page.getByLabel('Group by').selectOption({ label: 'Type' })
    await page.getByRole('navigation', { name: 'Groups by Type' }).getByText('Gateway').click()
    await waitForCount(page, /^1 asset$/)
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click()
    await page.waitForURL(/sort=-name/)
    const address = new URL(page.url())
    assert.deepEqual(Object.fromEntries(address.searchParams), {
      by: 'functional_object_type',
      in: 'Gateway',
      sort: '-name',
    })
    await page.goto(address.href)
    await waitForCount(page, /^1 asset$/)
    await page.getByRole('button', { name: 'Remove the filter Type is Gateway' }).press('Enter')
    await waitForCount(page, /\d\d+ assets/)
  })

  /** Checks that the user reaches the first row from the heading with at most five presses of the Tab key. */
  async function assertFewTabStops(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Filter (1)' }).click()
    await page.getByLabel('Filter expression').waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Assets', level: 1 }).focus()
    const isOnRow = () => page.evaluate(() => document.activeElement?.matches('.grid-body [role=row]') === true)
    let presses = 0
    for (; presses < 6 && !(await isOnRow()); presses++) await page.keyboard.press('Tab')
    assert.ok(presses <= 5, `the first row is tab stop ${presses}`)
    await page.getByRole('button', { name: 'Filter (1)' }).click()
  }

  test('finds text inside words when no word begins with the search text', async () => {
    await follow(page, '/assets')
    const search = page.getByRole('searchbox', { name: 'Search' })
    await search.fill('plc')
    await waitForCount(page, /^\d+ assets?$/)
    await page.getByRole('button', { name: 'Also search inside words' }).waitFor()
    await search.fill('lc')
    await page.getByText('The search also looks inside words.').waitFor()
    await waitForCount(page, /^\d+ assets?$/)
    await rows(page).first().getByRole('link', { name: /plc/i }).waitFor()
    await page.waitForURL(/match=inside/)
    await search.fill('zzqq')
    await page.getByText('No matching assets').waitFor()
    await page.getByRole('button', { name: 'Show all assets' }).click()
    await waitForCount(page, /\d\d+ assets/)
  })

  /** Moves columns by dragging and with the keyboard, and pins one. */
  async function moveColumns(): Promise<void> {
    const head = (name: string) => page.getByRole('columnheader', { name, exact: true })
    const order = async () => (await page.getByRole('columnheader').allInnerTexts()).slice(1, 6)
    assert.deepEqual(await order(), ['Name', 'Condition', 'Product', 'IP address', 'Firmware'])
    const [from, to] = [await head('Product').boundingBox(), await head('Firmware').boundingBox()]
    assert.ok(from && to)
    await page.mouse.move(from.x + 20, from.y + 15)
    await page.mouse.down()
    await page.mouse.move(to.x + 20, to.y + 15, { steps: 3 })
    await page.mouse.up()
    assert.deepEqual(await order(), ['Name', 'Condition', 'IP address', 'Firmware', 'Product'])
    await head('Firmware').getByRole('button').press('Shift+ArrowLeft')
    assert.deepEqual(await order(), ['Name', 'Condition', 'Firmware', 'IP address', 'Product'])
    const kept = page.waitForResponse((response) => response.url().endsWith('/preferences/assets.columns'))
    await head('Firmware').getByRole('button').press('p')
    await page.getByText('Firmware pinned').waitFor({ state: 'attached' })
    const left = () => head('Firmware').evaluate((cell) => cell.getBoundingClientRect().left)
    const cells = () =>
      rows(page)
        .first()
        .locator('.grid-pinned')
        .last()
        .evaluate((cell) => cell.getBoundingClientRect().left)
    // In a narrow window, the table scrolls.
    const size = page.viewportSize()
    await page.setViewportSize({ width: 800, height: 720 })
    const isWide = () => page.locator('.grid').evaluate((grid) => grid.scrollWidth > grid.clientWidth + 50)
    await until('the table is wider than the window', isWide)
    const before = [await left(), await cells()]
    await page.locator('.grid').evaluate((grid) => grid.scrollTo(400, 0))
    await page.locator('.grid[data-aside="true"]').waitFor()
    assert.deepEqual([await left(), await cells()], before)
    await page.locator('.grid').evaluate((grid) => grid.scrollTo(0, 0))
    if (size !== null) await page.setViewportSize(size)
    await kept
  }

  test('stores the columns and views of a user on the server for every browser', async () => {
    await follow(page, '/assets?q=plc')
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('button', { name: 'Hide Hierarchy node' }).click()
    const kept = page.waitForResponse((response) => response.url().endsWith('/preferences/assets.columns'))
    await page.getByRole('button', { name: 'Show Description' }).click()
    assert.equal((await kept).status(), 204)
    await assertAxeClean(page, 'columns')
    await page.getByRole('button', { name: 'Done' }).click()
    const nameHeader = page.getByRole('columnheader', { name: 'Name', exact: true }).getByRole('button')
    const widened = page.waitForResponse((response) => response.url().endsWith('/preferences/assets.columns'))
    const widthOf = (shown: Page) =>
      shown.getByRole('separator', { name: 'Resize Name' }).getAttribute('aria-valuenow').then(Number)
    const measured = await widthOf(page)
    for (let step = 0; step < 3; step++) await nameHeader.press('+')
    await widened
    const width = await widthOf(page)
    assert.equal(width, measured + 48)
    await moveColumns()
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('menuitem', { name: 'Save view…' }).click()
    await page.getByLabel('View name').fill('Controllers')
    const saved = page.waitForResponse((response) => response.url().endsWith('/preferences/assets.views'))
    await page.getByRole('button', { name: 'Save' }).click()
    await saved

    const elsewhere = await consoleBrowser.open()
    await consoleBrowser.signIn(elsewhere.page, { path: '/assets' })
    const headers = elsewhere.page.getByRole('columnheader')
    await headers.filter({ hasText: 'Description' }).waitFor()
    assert.equal(await headers.filter({ hasText: 'Hierarchy node' }).count(), 0)
    assert.deepEqual((await headers.allInnerTexts()).slice(1, 5), ['Name', 'Firmware', 'Condition', 'IP address'])
    assert.equal(await widthOf(elsewhere.page), width)
    await clickAsPerson(navigationTo(elsewhere.page, 'Controllers'))
    await elsewhere.page.waitForURL(/q=plc/)
    await elsewhere.page.locator('ix-menu-item.active').filter({ hasText: 'Controllers' }).waitFor()
    await assertAxeClean(elsewhere.page, 'saved view in the navigation')
    await elsewhere.page.getByRole('button', { name: 'Views' }).click()
    await elsewhere.page.getByRole('menuitem', { name: 'Delete “Controllers”' }).click()
    const forgotten = elsewhere.page.waitForResponse((response) => response.url().endsWith('/preferences/assets.views'))
    await elsewhere.page.getByRole('button', { name: 'Delete', exact: true }).click()
    await forgotten
    assert.equal(await navigationTo(elsewhere.page, 'Controllers').count(), 0)
    await elsewhere.context.close()
  })

  test('selects assets with the keyboard, previews and edits them in bulk, and undoes the change', async () => {
    // The start page removes the rows of the former view, so that the first row is a row of the new view.
    await follow(page, '/')
    await page.getByRole('heading', { name: 'Start', level: 1 }).waitFor()
    await follow(page, '/assets?sort=name')
    const first = rows(page).first()
    await first.waitFor()
    await first.focus()
    await page.keyboard.press('Space')
    await page.getByText('1 selected').waitFor()
    for (let step = 1; step <= 3; step++) {
      await page.keyboard.press('ArrowDown')
      await page.waitForFunction((index) => document.activeElement?.getAttribute('data-index') === index, String(step))
    }
    await page.keyboard.press('Shift+Space')
    await page.getByText('4 selected').waitFor()
    await page.getByRole('button', { name: 'Edit…' }).click()
    await page.getByLabel('Field').selectOption({ label: 'Responsible' })
    await page.getByText('Enter a value to see which assets change.').waitFor()
    await page.getByLabel('Value').fill('jane')
    await page.getByText('4 of 4 selected assets change.').waitFor()
    await assertAxeClean(page, 'preview of a bulk edit')
    const responsibleAssets = async () =>
      (await caller.inventory.listAssets({ query: { filter: "responsible eq 'jane'" } })).meta.totalElements
    await page.getByRole('button', { name: 'Change 4 assets' }).click()
    await page.getByText('4 assets changed').first().waitFor()
    assert.equal(await responsibleAssets(), 4)
    await clickAsPerson(page.getByRole('button', { name: 'Undo' }))
    await page.getByText('The previous values of 4 assets are restored').first().waitFor()
    assert.equal(await responsibleAssets(), 0)
    await rows(page).nth(2).focus()
    await page.keyboard.press('End')
    await page.waitForFunction(() => Number(document.activeElement?.getAttribute('data-index')) > 20)
    await page.keyboard.press('Home')
    await page.waitForFunction(() => document.activeElement?.getAttribute('data-index') === '0')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/console\/assets\/[0-9a-f-]{36}/)
  })

  test('start page, inbox and assets are accessible in light and dark mode, on a desktop and on a phone', async () => {
    for (const path of ['/', '/inbox', "/assets?by=access_group&filter=name%20ne%20'x'"]) {
      await follow(page, path)
      await page.locator('.figure-tiles, .grid-body [role=row], .empty-state').first().waitFor()
      await assertAxeCleanEverywhere(page, path)
    }
  })

  test('every control in every menu and dialog can be reached with the mouse, on a desktop and on a phone', async () => {
    const [gateway] = (await caller.onboarding.listGateways({})).data
    await follow(page, '/account')
    await page.getByRole('heading', { name: 'Your permissions' }).waitFor()
    const overlays = overlaysOf({ gatewayId: gateway?.id ?? '' })
    const names = new Set<string>()
    for (const overlay of overlays) names.add(await assertUsable(page, overlay))
    assert.equal(names.size, overlays.length, 'each opened another menu or dialog')
    // This step checks that a menu moves with its button when the page scrolls.
    await page.setViewportSize({ width: wide.width, height: 300 })
    await follow(page, `/assets/${gateway?.id}`)
    await clickAsPerson(page.getByRole('button', { name: 'More', exact: true }))
    await page.mouse.move(wide.width / 2, 250)
    await page.mouse.wheel(0, 40)
    await assertOverlayReachable(page, 'the menu on a scrolled page')
    await page.setViewportSize(narrow)
    await page.goto('/console/account')
    await clickAsPerson(page.locator('ix-menu-expand-icon'))
    const areas = await page.locator('ix-menu-item').all()
    assert.ok(areas.length >= 10)
    for (const area of areas) await until('the navigation is open', () => isReachable(area))
    await page.setViewportSize(wide)
  })

  test('does not offer write actions to a viewer', async () => {
    const viewer = { name: 'vera', password: 'a long enough word for reading' }
    const { data } = await caller.identity.createUser({ body: { data: viewer } })
    await caller.authorization.createGrant({ body: { data: { principal: data.id, role: 'viewer' } } })
    const { context, page: viewerPage } = await consoleBrowser.open()
    await consoleBrowser.signIn(viewerPage, { user: viewer, path: '/assets' })
    await rows(viewerPage).first().waitFor()
    await viewerPage.getByRole('checkbox', { name: 'Select row 1', exact: true }).check()
    await viewerPage.getByText('1 selected').waitFor()
    assert.equal(await viewerPage.getByRole('button', { name: /Edit|Delete/ }).count(), 0)
    assert.equal(await navigationTo(viewerPage, 'Access').count(), 0)
    await context.close()
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
