import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  endDiscoveryJob,
  enrolledGateway,
  foundDevice,
  leaseDiscovery,
  linkReport,
  platformOver,
  type TestGateway,
  uploadDevices,
} from '@millwright/cloud/platform/testing/gateway.ts'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, assertAxeCleanEverywhere, type ConsoleBrowser, consoleOf, follow, wide } from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { clickAsPerson } from './reachability.ts'

const desk = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }

describe('the inbox in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let gateway: TestGateway
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    caller = await callerOf(platform)
    gateway = await enrolledGateway(platformOver(platform.baseUrl), caller, { name: 'Hall 3' })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
    await caller.authorization.createAccessGroup({ body: { data: { name: 'Assembly' } } })
    const { data: tree } = await caller.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    await caller.hierarchy.createNode({ params: { id: tree.id }, body: { data: { name: 'Line 1' } } })
    await scan([
      ...[1, 2, 3, 4, 5, 6].map((index) => device(index, `10.3.1.${index}`, `PLC ${index}`)),
      ...[11, 12, 13].map((index) => device(index, `10.3.2.${index}`, `Drive ${index}`)),
    ])
    // This device has the address and the name of a device that was found before.
    await scan([{ ...device(21, '10.3.1.1', 'PLC 1'), product_instance_information: { serial_number: 'SN1' } }])
    consoleBrowser = consoleOf(platform, browser)
    page = await opened({ viewport: wide })
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function opened(options: BrowserContextOptions): Promise<Page> {
    const { page } = await consoleBrowser.open(options)
    await consoleBrowser.signIn(page, { path: '/inbox' })
    return page
  }

  function device(index: number, address: string, name: string) {
    return foundDevice(index, {
      name,
      connection_points: [
        { connection_point_type: 'Ipv4Connectivity', id: 'x1', ipv4_address: address, network_mask: '255.255.255.0' },
      ],
    })
  }

  /** Runs a scan as the gateway. */
  async function scan(assets: Record<string, unknown>[]): Promise<void> {
    const { jobId } = await caller.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: {
        data: {
          assetLinkId: 'cdm-device-class-driver-example',
          discoveryOptions: [{ key: 'size', value: String(assets.length) }],
        },
      },
    })
    const leased = await leaseDiscovery(gateway)
    await uploadDevices(gateway, leased, { assets })
    await endDiscoveryJob(gateway, leased)
    const isOver = async () => (await caller.discovery.getDiscovery({ params: { jobId } })).data.state === 'finished'
    await until('the scan has finished', isOver, 60_000)
  }

  const countOf = (shown: Page, text: RegExp) => shown.locator('.assets-count').filter({ hasText: text }).waitFor()
  const row = (shown: Page, name: string) => shown.getByRole('row').filter({ hasText: name }).first()
  const preview = (shown: Page) => shown.getByRole('complementary', { name: 'Preview of the current asset' })
  const button = (shown: Page, name: string) => shown.getByRole('button', { name, exact: true }).first()
  const stateOf = async (name: string) => {
    const { data } = await caller.inventory.listAssets({ query: { filter: `name eq '${name}'`, limit: 1 } })
    const [asset] = data as { management_state: { state_value: string }; access_group: string }[]
    return [asset?.management_state.state_value, asset?.access_group]
  }

  test('facets narrow the list, and the preview shows why an asset is new and its possible duplicate', async () => {
    await countOf(page, /^10 to review/)
    await row(page, 'PLC 1')
      .getByText(/sec|min|now/)
      .waitFor()
    assert.deepEqual(await page.getByRole('tab').allInnerTexts(), ['New 10', 'Ignored 0', 'Duplicates 0', 'Decisions'])
    await assertAxeCleanEverywhere(page, 'inbox')
    await clickAsPerson(button(page, 'Subnet'))
    await page.getByRole('menuitemradio', { name: 'All', checked: true }).waitFor()
    await assertAxeClean(page, 'menu of a facet')
    await clickAsPerson(page.getByRole('menuitemradio', { name: '10.3.2.0/24 (3)' }))
    await countOf(page, /^3 matching assets/)
    await page.getByRole('tab', { name: 'New 10', exact: true }).waitFor()
    await clickAsPerson(page.getByRole('button', { name: 'Select all 3 that match' }))
    await page.getByRole('toolbar', { name: '3 selected' }).waitFor()
    await clickAsPerson(page.getByRole('button', { name: 'Clear selection' }))
    await clickAsPerson(button(page, 'Subnet'))
    await clickAsPerson(page.getByRole('menuitemradio', { name: 'All' }))
    await countOf(page, /^10 to review/)
    await page.getByRole('searchbox', { name: /Search/ }).fill('SN1')
    await page.getByRole('searchbox', { name: /Search/ }).fill('PLC 1')
    await countOf(page, /matching assets/)
    await clickAsPerson(row(page, 'PLC 1').getByRole('gridcell').nth(2))
    await preview(page)
      .getByText(/Found by asset link .* \(Hall 3\), scan of /)
      .waitFor()
    await preview(page).getByText('Possible duplicate').waitFor()
    await preview(page).getByText('Same IP address').waitFor()
    await clickAsPerson(button(page, 'Clear filters'))
    await countOf(page, /^10 to review/)
  })

  test('an asset is onboarded into an access group and a node with the mouse, and the decision is undone', async () => {
    await clickAsPerson(row(page, 'PLC 6').getByRole('gridcell').nth(2))
    await preview(page).getByRole('heading', { name: 'PLC 6' }).waitFor()
    const actions = await preview(page).locator('.preview-actions ix-button').allInnerTexts()
    assert.deepEqual(actions, ['Onboard to…', 'Onboard without node', 'Ignore'])
    await clickAsPerson(preview(page).getByRole('button', { name: 'Onboard to…' }))
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Access group').selectOption({ label: 'Assembly' })
    await clickAsPerson(dialog.getByRole('treeitem', { name: /Line 1/ }))
    await assertAxeClean(page, 'dialog of the target')
    await clickAsPerson(dialog.getByRole('button', { name: 'Onboard', exact: true }))
    await page.getByText('1 asset onboarded').first().waitFor()
    assert.deepEqual(await stateOf('PLC 6'), ['regarded', 'Assembly'])
    await countOf(page, /^9 to review/)
    await clickAsPerson(page.getByRole('button', { name: 'Undo (U)' }))
    await countOf(page, /^10 to review/)
    assert.deepEqual(await stateOf('PLC 6'), ['unknown', 'default'])
  })

  for (const [where, options] of [
    ['in light mode on a desktop', { viewport: desk, colorScheme: 'light' }],
    ['in dark mode on a phone', { viewport: phone, colorScheme: 'dark' }],
  ] as const) {
    test(`the keys move, select, ignore, onboard and undo ${where}`, async () => {
      const keyed = await opened(options)
      await countOf(keyed, /^10 to review/)
      await keyed.keyboard.press('j')
      await keyed.locator('[role=row][aria-current=true]:focus').waitFor()
      await keyed.keyboard.press('j')
      await keyed.keyboard.press('k')
      await keyed.keyboard.press('i')
      await countOf(keyed, /^9 to review/)
      await keyed.getByText('1 asset ignored').first().waitFor()
      await keyed.keyboard.press('u')
      await countOf(keyed, /^10 to review/)
      await keyed.keyboard.press('x')
      await keyed.keyboard.press('j')
      await keyed.keyboard.press('x')
      await keyed.getByText('2 selected').first().waitFor()
      await keyed.keyboard.press('o')
      await clickAsPerson(keyed.getByRole('dialog').getByRole('button', { name: 'Onboard', exact: true }))
      await keyed.getByText('2 assets onboarded').first().waitFor()
      await keyed.getByRole('dialog').waitFor({ state: 'detached' })
      await countOf(keyed, /^8 to review/)
      await keyed.keyboard.press('u')
      await countOf(keyed, /^10 to review/)
      await keyed.context().close()
    })
  }

  test('a rule is created with a preview, its proposals are accepted at once, and the decision is listed', async () => {
    await clickAsPerson(button(page, 'Onboarding rules'))
    await page.getByText('No onboarding rules yet').waitFor()
    await assertAxeCleanEverywhere(page, 'onboarding rules without a rule')
    await clickAsPerson(button(page, 'New rule'))
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Drives of line 1')
    await dialog.getByLabel('Found by gateway').selectOption({ label: 'Hall 3' })
    await dialog.getByLabel('IP ranges').fill('10.3.2.0/24')
    await dialog.getByText('Matches 3 new assets now').waitFor()
    await dialog.getByLabel('Access group').selectOption({ label: 'Assembly' })
    await assertAxeClean(page, 'dialog of a rule')
    await clickAsPerson(dialog.getByRole('button', { name: 'Save' }))
    await page.getByRole('link', { name: 'Review 3 proposals' }).waitFor()
    await page.getByText('Active, proposes only').waitFor()
    assert.deepEqual(await page.locator('.rule-condition').allInnerTexts(), [
      'Gateway: Hall 3',
      'IP range: 10.3.2.0/24',
    ])
    await clickAsPerson(page.getByRole('button', { name: 'Set hierarchy node' }))
    await clickAsPerson(dialog.getByRole('button', { name: 'Cancel' }))
    await assertAxeCleanEverywhere(page, 'onboarding rules')

    await follow(page, '/inbox')
    await clickAsPerson(button(page, 'Show them'))
    await countOf(page, /^3 matching assets/)
    await row(page, 'Drive 12').waitFor()
    await preview(page).getByRole('button', { name: 'Onboard to Assembly' }).waitFor()
    await preview(page).getByText('Rule “Drives of line 1”').waitFor()
    await page.keyboard.press('o')
    await page.getByText('1 asset onboarded').first().waitFor()
    await countOf(page, /^2 matching assets/)
    await page.keyboard.press('u')
    await countOf(page, /^3 matching assets/)
    await clickAsPerson(button(page, 'Show all new assets'))
    await countOf(page, /^10 to review/)
    await clickAsPerson(button(page, 'Accept all 3…'))
    await clickAsPerson(page.getByRole('dialog').getByRole('button', { name: 'Onboard', exact: true }))
    await countOf(page, /^7 to review/)
    assert.deepEqual(await stateOf('Drive 12'), ['regarded', 'Assembly'])

    await clickAsPerson(page.getByRole('tab', { name: 'Decisions' }))
    const accepted = page.getByRole('row').filter({ hasText: 'onboarded 3 assets with the rule Drives of line 1' })
    await accepted.getByText('Assembly').waitFor()
    await accepted.getByText('No node').waitFor()
    await page.getByLabel('Kind of decision').selectOption({ label: 'Returned to the inbox' })
    await accepted.waitFor({ state: 'detached' })
    await page.getByLabel('Kind of decision').selectOption({ label: 'Onboarded' })
    await accepted.waitFor()
    await assertAxeCleanEverywhere(page, 'decisions')
    await clickAsPerson(accepted.getByRole('button', { name: 'and 2 more' }))
    await page.getByRole('dialog').getByRole('link', { name: 'Drive 12' }).waitFor()
    await assertAxeClean(page, 'assets of a decision')
    await page.keyboard.press('Escape')
    await clickAsPerson(accepted.getByRole('button', { name: 'Undo' }))
    await until('the drives are new again', async () => (await stateOf('Drive 12'))[0] === 'unknown')
  })

  test('the buttons of a rule change its order and keep the focus', async () => {
    const { data: second } = await caller.inbox.createOnboardingRule({
      body: { data: { name: 'Rack', filter: "startswith(name, 'Rack') and functional_object_type eq 'Device'" } },
    })
    await follow(page, '/inbox/rules')
    const names = () => page.locator('.rule-card h2').allInnerTexts()
    const moved = async (where: string, expected: string) => {
      await until(`the rule is ${where}`, async () =>
        (await names()).join(' ').replaceAll(/\s+/g, ' ').startsWith(expected),
      )
      return page.locator('.rule-move:focus')
    }
    const up = page.getByRole('button', { name: 'Move up: Rack' })
    await up.focus()
    await up.press('Enter')
    assert.equal(await (await moved('first', '1 Rack Active, proposes only 2 Drives')).getAttribute('data-step'), '1')
    await page.keyboard.press('Enter')
    assert.equal(await (await moved('second', '1 Drives of line 1')).getAttribute('data-step'), '-1')
    assert.deepEqual(await page.locator('.rule-card').nth(1).locator('.rule-condition').allInnerTexts(), [
      'Name begins with “Rack”',
      'Type is “Device”',
    ])
    await assertAxeCleanEverywhere(page, 'order of onboarding rules')
    await caller.inbox.deleteOnboardingRule({ params: { id: second.id } })
    await page.getByText('Rack', { exact: true }).waitFor({ state: 'detached' })
  })

  test('an automatic rule onboards the devices of the next scan, and its log undoes it', async () => {
    await follow(page, '/inbox/rules')
    const choose = async (entry: string) => {
      await clickAsPerson(button(page, 'More: Drives of line 1'))
      await clickAsPerson(page.getByRole('menuitem', { name: entry, exact: true }))
    }
    await clickAsPerson(button(page, 'Edit: Drives of line 1'))
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What the rule does').selectOption('automatic')
    await clickAsPerson(dialog.getByRole('button', { name: 'Save' }))
    await page.getByText('Active, onboards automatically').waitFor()
    await scan([device(31, '10.3.2.31', 'Drive 31')])
    await until('the rule has onboarded the device', async () => (await stateOf('Drive 31'))[0] === 'regarded')
    await choose('Log')
    await page.getByRole('dialog').getByText('Complete').waitFor()
    await clickAsPerson(page.getByRole('dialog').getByRole('button', { name: 'Undo' }))
    await until('the device is new again', async () => (await stateOf('Drive 31'))[0] === 'unknown')
    await page.getByRole('dialog').getByText('Undone').waitFor()
  })

  test('no page violates the content security policy or has controls that the mouse cannot reach', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
