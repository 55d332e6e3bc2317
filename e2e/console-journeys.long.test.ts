import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, type ConsoleBrowser, consoleOf, follow } from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { clickAsPerson } from './reachability.ts'
import { discover, onlineGateway, over, plantGateway } from './shop-floor.ts'
import { stepTimeoutMs } from './time-limit.ts'

/**
 * These tests follow the main journeys of a user on each kind of screen: on a desktop and on a phone, in light and dark
 * mode, with the mouse and with the keyboard alone. The tests of each page cover its other actions.
 */

const scanMs = 240_000
const screens = {
  'a desktop': { width: 1440, height: 900 },
  'a phone': { width: 390, height: 844 },
} as const

/** How a user operates the console: with the mouse, or with the keyboard alone. */
type Input = {
  activate(control: Locator): Promise<void>
  /** Opens a row of a table. A row can be wider than a phone, so the mouse clicks on its first cell. */
  open(row: Locator): Promise<void>
}

const inputs: Readonly<Record<string, Input>> = {
  mouse: {
    activate: clickAsPerson,
    open: (row) => clickAsPerson(row.getByRole('gridcell').first()),
  },
  keyboard: { activate: pressEnter, open: pressEnter },
}

async function pressEnter(control: Locator): Promise<void> {
  await control.waitFor()
  await control.focus()
  await until('the control has the focus', () => control.evaluate(hasFocus), stepTimeoutMs)
  await control.press('Enter')
}

/** Returns whether an element or a part of it has the focus. It runs in the browser. */
function hasFocus(element: Element): boolean {
  return element.matches(':focus') || element.matches(':focus-within') || element.shadowRoot?.activeElement != null
}

type Journey = Input & { page: Page; name: string }

describe('journeys in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let controllerId: string
  /** The address of a device that the scan has found. */
  let address: string

  before(async () => {
    ;[platform, { browser }] = await Promise.all([
      startPlatform({ home: folder.path, environment: plantGateway }),
      openBrowser(),
    ])
    consoleBrowser = consoleOf(platform, browser)
    caller = await callerOf(platform)
    await over(caller, await discover(caller, await onlineGateway(caller), { size: '48' }), scanMs)
    await createPlace()
    address = await scannedAddress()
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  /** Returns the address of a controller that the scan has found. */
  async function scannedAddress(): Promise<string> {
    const { data } = await caller.inventory.listAssets({ query: { q: 'PLC', limit: 50 } })
    const assets = data as { name?: string; connection_points?: { ipv4_address?: string }[] }[]
    const points = assets
      .filter(({ name }) => name !== 'PRESS-PLC-77')
      .flatMap((asset) => asset.connection_points ?? [])
    return points.flatMap(({ ipv4_address: found }) => found ?? [])[0] ?? assert.fail('no controller has an address')
  }

  /** Creates a line with a controller and a drive that depends on it, both onboarded. */
  async function createPlace(): Promise<void> {
    const create = async (name: string, address: string) => {
      const asset = {
        functional_object_type: 'Device',
        name,
        asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }],
        connection_points: [{ connection_point_type: 'Ipv4Connectivity', id: 'x1', ipv4_address: address }],
      }
      const { data } = await caller.inventory.createAsset({ headers: { prefer: 'wait=30' }, body: { data: { asset } } })
      return (
        (data.detail?.result as { assetId?: string } | undefined)?.assetId ?? assert.fail('the asset is not created')
      )
    }
    controllerId = await create('PRESS-PLC-77', '10.77.0.1')
    const driveId = await create('PRESS-DRIVE-77', '10.77.0.2')
    const ends = { subject: { type: 'asset', id: driveId }, object: { type: 'asset', id: controllerId } } as const
    await caller.inventory.createRelation({ body: { data: { ...ends, predicate: 'is_connected_to' } } })
    const { data: tree } = await caller.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    const { data: line } = await caller.hierarchy.createNode({
      params: { id: tree.id },
      body: { data: { name: 'Line 1' } },
    })
    await caller.hierarchy.assignAssets({
      params: { id: line.id },
      body: { data: { assetIds: [controllerId, driveId] } },
    })
  }

  const button = (page: Page, name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' }).first()

  const journeys: Readonly<Record<string, (journey: Journey) => Promise<void>>> = {
    async 'the start page leads to the activity and to the inbox'({ page, activate }) {
      await follow(page, '/')
      await activate(page.getByRole('link', { name: 'All activity' }))
      await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
      await follow(page, '/')
      await activate(page.getByRole('link', { name: /^Review \d+ new assets/ }))
      await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor()
    },

    async 'the activity shows the details of a change'({ page, activate }) {
      await follow(page, '/activity?range=day')
      const row = page.locator('.activity-row').filter({ hasText: 'PRESS-PLC-77' }).first()
      await activate(row.getByRole('button', { name: /^Details/ }))
      const panel = page.getByRole('complementary', { name: 'Details' })
      await panel.getByText('Raw data (JSON)').waitFor()
      await activate(panel.getByRole('button', { name: 'Close' }))
      await panel.waitFor({ state: 'detached' })
    },

    async 'an asset of the inbox is ignored, and the decision is undone'({ page, activate }) {
      await follow(page, '/inbox')
      const count = page.locator('.assets-count')
      await count.filter({ hasText: /^\d+ to review/ }).waitFor()
      const before = await count.textContent()
      await page.keyboard.press('j')
      await activate(page.getByRole('complementary', { name: /Preview/ }).getByRole('button', { name: 'Ignore' }))
      await page.getByText('1 asset ignored').first().waitFor()
      await activate(button(page, /^Undo/))
      await until('the asset is new again', async () => (await count.textContent()) === before)
    },

    async 'the topology opens a place and an asset'({ page, open }) {
      await follow(page, '/topology')
      const rows = page.locator('.map-list [role=row][data-index]')
      await open(rows.filter({ hasText: 'Line 1' }))
      await page.getByRole('grid', { name: 'Inside Line 1' }).waitFor()
      await open(rows.filter({ hasText: 'PRESS-PLC-77' }))
      await page.getByRole('heading', { name: 'PRESS-PLC-77', level: 2 }).waitFor()
    },

    async 'a failure analysis is saved as a report'({ page, activate }) {
      await follow(page, `/assets/${controllerId}?tab=impact`)
      await page.getByText('1 asset depends on PRESS-PLC-77').waitFor()
      const fails = page.getByRole('radio', { name: 'What if this fails' })
      await fails.focus()
      await fails.press('Space')
      await page.getByText('1 asset is affected if PRESS-PLC-77 fails').waitFor()
      await activate(button(page, 'Save as report'))
      await activate(page.getByRole('link', { name: 'Open report' }))
      await page.getByRole('heading', { level: 1, name: /^PRESS-PLC-77 / }).waitFor()
    },

    async 'credentials are added and tested against a device'({ page, activate, name }) {
      await follow(page, '/credentials')
      await activate(button(page, 'Add credentials'))
      const dialog = page.getByRole('dialog')
      const step = (title: string) => dialog.locator('[aria-current=step]', { hasText: title }).waitFor()
      await step('Type')
      await dialog.getByRole('radio', { name: /^Simulated plant/ }).check()
      await activate(button(page, 'Next'))
      await step('Values')
      await dialog.getByLabel('Name').fill(`Reading ${name}`)
      await dialog.getByLabel('User').fill('user')
      await dialog.getByLabel('Password').fill('user_password')
      await activate(button(page, 'Next'))
      await step('Where they apply')
      await dialog.getByLabel('IP addresses').fill('10.0.0.0/24')
      await activate(button(page, 'Save and continue'))
      await step('Test')
      await dialog.getByLabel('IP address of the device').fill(address)
      await activate(button(page, 'Test now'))
      // The simulated device can be read without credentials.
      await dialog.getByText(`${address} needs no credentials`).first().waitFor()
      await activate(button(page, 'Done'))
      await page.getByRole('heading', { level: 1, name: `Reading ${name}` }).waitFor()
    },

    async 'the page of an asset copies an identifier, and offers the action for its state'({ page, activate }) {
      await follow(page, `/assets/${controllerId}?tab=identity`)
      await activate(page.getByRole('button', { name: /^Copy: / }).first())
      await page.locator('#announcement').filter({ hasText: 'Copied' }).waitFor({ state: 'attached' })
      await activate(button(page, 'More'))
      await page.getByRole('menuitem', { name: 'Delete…' }).waitFor()
      await page.keyboard.press('Escape')
    },

    async 'assets are searched and changed in bulk, and the change is undone'({ page, activate, name }) {
      await follow(page, '/assets?sort=name')
      await page.getByRole('searchbox').first().fill('RESS-PLC-77')
      await page.locator('.assets-count').filter({ hasText: '1 asset' }).waitFor()
      const checkbox = page.getByRole('checkbox', { name: 'Select row 1', exact: true })
      await checkbox.focus()
      await checkbox.press('Space')
      await page.getByText('1 selected').waitFor()
      await activate(button(page, 'Edit…'))
      await page.getByLabel('Field').selectOption({ label: 'Responsible' })
      await page.getByLabel('Value').fill(name)
      await activate(button(page, 'Change 1 asset'))
      await page.getByText('1 asset changed').first().waitFor()
      await activate(button(page, 'Undo'))
      await page
        .getByText(/previous value/)
        .first()
        .waitFor()
    },
  }

  for (const [screen, viewport] of Object.entries(screens))
    for (const colorScheme of ['light', 'dark'] as const)
      for (const [device, input] of Object.entries(inputs)) {
        describe(`on ${screen} in ${colorScheme} mode, with the ${device}`, () => {
          let page: Page

          before(async () => {
            ;({ page } = await consoleBrowser.open({
              viewport,
              colorScheme,
              permissions: ['clipboard-read', 'clipboard-write'],
            }))
            await consoleBrowser.signIn(page)
          })

          after(() => page?.context().close())

          for (const [title, journey] of Object.entries(journeys))
            test(title, async () => {
              await journey({ ...input, page, name: `${viewport.width} ${colorScheme} ${device}` })
              await assertAxeClean(page, title)
            })
        })
      }

  test('no page violates its security policy, throws an error or has a control that the mouse cannot reach', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
