import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { createFirmware } from '@millwright/links/plant/firmware.ts'
import type { Browser, Page } from 'playwright-core'
import { Signer } from './artefact-signer.ts'
import { openBrowser } from './browser.ts'
import {
  assertAxeClean,
  assertAxeCleanEverywhere,
  type ConsoleBrowser,
  consoleOf,
  follow,
  narrow,
  navigationTo,
  routeUntil,
  untilDisabled,
  wide,
} from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { assertOverlayReachable, clickAsPerson } from './reachability.ts'
import { discover, onlineGateway, over, plantGateway } from './shop-floor.ts'

const password = `the ${plantedWord} of a user`

type PlantProduct = { manufacturer: string; article: string; assets: { id: string; name: string }[] }

describe('updates in the console', () => {
  const folder = temporaryFolder()
  const signer = new Signer()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let page: Page
  let product: PlantProduct

  before(async () => {
    ;[platform, { browser }] = await Promise.all([
      startPlatform({ home: folder.path, environment: plantGateway }),
      openBrowser(),
    ])
    caller = await callerOf(platform)
    consoleBrowser = consoleOf(platform, browser)
    const [opened] = await Promise.all([consoleBrowser.open({ acceptDownloads: true }), scanPlant()])
    page = opened.page
    await consoleBrowser.signIn(page, { path: '/updates' })
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  /** Scans a plant whose devices all fail at 60 % of the transfer if they have a fault. */
  async function scanPlant(): Promise<void> {
    const options = {
      size: '60',
      silent_percent: '0',
      update_fault_percent: '30',
      update_faults: 'fails-at-60',
      update_restart_ms: '100',
    }
    await over(caller, await discover(caller, await onlineGateway(caller), options), 120_000)
    product = await largestProduct()
  }

  async function largestProduct(): Promise<PlantProduct> {
    const { data } = await caller.inventory.listAssets({
      query: { limit: 100, fields: 'id,name,product_instance_information' },
    })
    const products = new Map<string, PlantProduct>()
    for (const asset of data as { id: string; name: string; product_instance_information?: ProductInformation }[]) {
      const { product_id: article, manufacturer } = asset.product_instance_information?.manufacturer_product ?? {}
      if (article === undefined || manufacturer?.name === undefined) continue
      const found = products.get(article) ?? { manufacturer: manufacturer.name, article, assets: [] }
      found.assets.push({ id: asset.id, name: asset.name })
      products.set(article, found)
    }
    return [...products.values()].toSorted((a, b) => b.assets.length - a.assets.length)[0] ?? assert.fail('no products')
  }

  const button = (name: string | RegExp, on = page) =>
    on.getByRole('button', { name, exact: typeof name === 'string' }).first()
  const dialog = (on = page) => on.getByRole('dialog')
  const inDialog = (name: string, on = page) => dialog(on).getByRole('button', { name, exact: true })
  const heading = (name: string | RegExp, on = page) =>
    on.getByRole('heading', { level: 1, name, exact: typeof name === 'string' }).waitFor()
  const tab = (name: string) => clickAsPerson(page.getByRole('tab', { name, exact: true }))
  const currentStep = (name: string) => page.locator('[aria-current=step]').filter({ hasText: name }).waitFor()

  /** Writes a file that the browser can choose. */
  function written(name: string, content: Buffer): string {
    const path = join(folder.path, name)
    writeFileSync(path, content)
    return path
  }

  async function chooseFile(path: string): Promise<void> {
    await dialog().locator('.drop-zone input[type=file]').setInputFiles(path)
  }

  async function describeArtefact({ name, signature }: { name: string; signature?: string }): Promise<void> {
    await dialog().getByLabel('Name').fill(name)
    await dialog().getByLabel('Manufacturer').fill(product.manufacturer)
    await dialog().getByLabel('Products').fill(product.article)
    if (signature !== undefined) await dialog().getByLabel('Signature').fill(signature)
  }

  async function campaignId(): Promise<string> {
    return (await caller.updates.listCampaigns({})).data[0]?.id ?? assert.fail('no campaigns')
  }

  test('explains campaigns, artefacts and trust anchors when there are none', async () => {
    await page.getByText('No campaigns yet').first().waitFor()
    await assertAxeClean(page, 'list without campaigns')
    await tab('Artefacts')
    await page.getByText('No artefacts yet').waitFor()
    await assertAxeClean(page, 'list without artefacts')
    await tab('Trusted signers')
    await page.getByText('No trust anchors yet').waitFor()
    await assertAxeClean(page, 'trust without anchors')
  })

  test('adds a trust anchor, and allows unsigned artefacts only after a warning', async () => {
    await follow(page, '/updates?view=trust')
    await clickAsPerson(button('Add trust anchor'))
    await inDialog('Add').click()
    await dialog().getByText('Required', { exact: true }).first().waitFor()
    await dialog().getByLabel('Name').fill('Plant vendor')
    await dialog().getByLabel('Certificate or public key').fill('no key')
    await inDialog('Add').click()
    await dialog().getByRole('alert').getByText('invalid_trust_anchor').waitFor()
    await assertAxeClean(page, 'trust anchor that is not valid')
    await dialog().getByLabel('Certificate or public key').fill(signer.publicKey)
    await page.keyboard.press('Tab')
    await inDialog('Add').click()
    await page.getByRole('heading', { level: 3, name: 'Plant vendor' }).waitFor()
    const allow = page.getByRole('switch', { name: 'Allow unsigned artefacts' })
    await allow.click()
    await dialog().getByText('The platform cannot detect whether such an artefact was manipulated.').waitFor()
    await assertOverlayReachable(page, 'warning about unsigned artefacts')
    await untilDisabled(inDialog('Allow unsigned artefacts'))
    await dialog().getByLabel('I accept the risk').check()
    await inDialog('Allow unsigned artefacts').click()
    await page.getByText('Unsigned artefacts can be installed on all devices of this tenant.').waitFor()
    await assertAxeCleanEverywhere(page, 'trust with unsigned artefacts')
    await allow.click()
    await page.getByText('Unsigned artefacts can be installed on all devices').waitFor({ state: 'detached' })
  })

  test('uploads a signed artefact with the keyboard, and shows its signature and description', async () => {
    const content = createFirmware({ product: product.article, version: '99.1.0', payload: randomBytes(200_000) })
    await follow(page, '/updates?view=artefacts')
    await button('Upload artefact').focus()
    await page.keyboard.press('Enter')
    await dialog().waitFor()
    await chooseFile(written(`${product.article.replaceAll(' ', '_')}_99.1.0.upd`, content))
    await describeArtefact({ name: 'Controller firmware', signature: signer.signatureOf(content) })
    await dialog().getByLabel('Release notes').fill('Corrects the restart after a power failure.')
    await dialog().getByText('SHA-256:').waitFor()
    await inDialog('Upload').focus()
    await page.keyboard.press('Enter')
    await dialog().getByText('Signature valid').waitFor()
    await dialog().getByRole('link', { name: 'Open artefact' }).press('Enter')
    await heading('Controller firmware 99.1.0')
    await page.getByText('Plant vendor').waitFor()
    await page.getByText('Corrects the restart after a power failure.').waitFor()
    await assertAxeCleanEverywhere(page, 'artefact')
    await clickAsPerson(button('Edit'))
    await dialog().getByLabel('Required installed versions').fill('not a range ((')
    await inDialog('Save').click()
    await dialog().getByText('invalid_version_range').waitFor()
    await dialog().getByLabel('Required installed versions').fill('>=0.1')
    await inDialog('Save').click()
    await page.getByText('>=0.1').waitFor()
  })

  test('shows the versions in use, and starts a campaign for outdated devices', async () => {
    await follow(page, '/updates?view=drift')
    const card = page.locator('.drift-products > li').filter({ hasText: '99.1.0' }).first()
    await card.getByText('99.1.0').first().waitFor()
    await page.getByLabel('Search products').fill('nothing like this')
    await page.getByText('No matching products').waitFor()
    await page.getByLabel('Search products').fill(product.article)
    await card.waitFor()
    await assertAxeCleanEverywhere(page, 'versions in use')
    await card.getByText(/^\d+ with gateway$/).waitFor()
    await clickAsPerson(card.getByRole('button', { name: 'Plan update', exact: true }))
    await heading('New campaign')
    await currentStep('Targets')
    await page.getByText(`${product.assets.length} assets match`).waitFor()
    await assertAxeClean(page, 'targets of a campaign')
  })

  test('creates a campaign in steps, and shows its plan with reasons and order', async () => {
    await follow(page, '/updates')
    await clickAsPerson(button('New campaign'))
    await currentStep('Artefact')
    await button('Next').click()
    await page.getByText('Choose an artefact.').waitFor()
    await page.getByRole('radio', { name: /Controller firmware 99\.1\.0/ }).press('Space')
    await assertAxeClean(page, 'artefact of a campaign')
    await button('Next').click()
    await page.getByText(`${product.assets.length} assets match`).waitFor()
    await page.getByRole('radio', { name: 'Selected assets' }).check()
    await button('Next').click()
    await page.getByText('Choose the targets.').waitFor()
    await page.getByRole('radio', { name: 'Products of the artefact' }).check()
    await button('Next').click()
    await currentStep('Waves and conditions')
    await page.getByLabel('Name of the campaign').fill('Controllers of the plant')
    await page.getByLabel('Size of wave 1').fill('0')
    await button('Compute plan').click()
    await page.getByText('Enter a percentage above 0 and up to 100, or a whole number of devices from 1.').waitFor()
    await page.getByLabel('Size of wave 1').fill('1')
    await page.getByLabel('Unit of wave 1').selectOption({ label: 'devices' })
    await page.getByLabel('Stop when more than this percentage of a wave has failed').fill('100')
    await page.getByLabel('Update only in a maintenance window').check()
    await page.getByLabel('Time zone').fill('Mars')
    await button('Compute plan').click()
    await page.getByText('Enter a time zone such as Europe/Berlin.').waitFor()
    await page.getByLabel('Update only in a maintenance window').uncheck()
    await assertAxeCleanEverywhere(page, 'waves of a campaign')
    await page.getByRole('checkbox', { name: 'Another person must approve the campaign' }).press('Space')
    await button('Compute plan').click()
    await heading('Controllers of the plant')
    await currentStep('Plan and start')
    await page.getByRole('row').filter({ hasText: '99.1.0' }).first().waitFor()
    await page.getByText('Wave 1: 1 device').waitFor()
    await assertAxeCleanEverywhere(page, 'plan')
    await clickAsPerson(button('Edit'))
    await button('Next').click()
    assert.equal(await page.getByLabel('Size of wave 1').inputValue(), '1')
    await button('Compute plan').click()
    await page.getByText('Wave 1: 1 device').waitFor()
    await follow(page, '/updates')
    const products = page.getByRole('region', { name: 'Products to update' })
    await products.getByText(/ \d+ (has|have) a gateway\./).waitFor()
    const row = products.getByRole('row').filter({ hasText: '99.1.0' })
    await row.getByRole('link', { name: /^Continue draft/ }).waitFor()
    await clickAsPerson(products.getByRole('link', { name: 'Show all products' }))
    await page.waitForURL(/view=drift&older=only/)
    await page.goBack()
    await page.getByText(`${product.assets.length} assets selected`).waitFor()
    await clickAsPerson(page.getByRole('gridcell').getByRole('link', { name: 'Continue draft' }))
    await page.getByText('Wave 1: 1 device').waitFor()
  })

  test('starts a campaign after the approval of another person', async () => {
    const reviewer = { name: 'reviewer', password }
    const { data: user } = await caller.identity.createUser({ body: { data: reviewer } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'update_manager' } } })
    await clickAsPerson(button('Start'))
    await dialog().getByText('after another person has approved it').waitFor()
    await assertOverlayReachable(page, 'start of a campaign')
    await inDialog('Start').click()
    await page.getByText('Waiting for approval').first().waitFor()
    assert.equal(await page.getByRole('button', { name: 'Approve', exact: true }).count(), 0)
    const { page: other, context } = await consoleBrowser.open()
    await consoleBrowser.signIn(other, { user: reviewer, path: new URL(page.url()).pathname.replace('/console', '') })
    await clickAsPerson(button('Approve', other))
    await inDialog('Approve', other).click()
    await context.close()
    await page.getByText('reviewer', { exact: true }).waitFor()
  })

  test('sets and removes the maintenance window of a hierarchy node', async () => {
    const { data: tree } = await caller.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    const { data: node } = await caller.hierarchy.createNode({
      params: { id: tree.id },
      body: { data: { name: 'Line 1', parentId: null } },
    })
    await follow(page, `/hierarchy?hierarchy=${tree.id}&node=${node.id}&view=details`)
    await clickAsPerson(button('Set window'))
    await dialog().getByLabel('Schedule').selectOption({ label: 'Weekly' })
    await dialog().getByLabel('Duration in minutes').fill('240')
    await dialog().getByLabel('Time zone').fill('Europe/Berlin')
    for (const viewport of [narrow, wide]) {
      await page.setViewportSize(viewport)
      await assertOverlayReachable(page, `window dialog, ${viewport.width} pixels`)
    }
    await inDialog('Save').click()
    await page.getByText('Monday at 22:00, 4 h (Europe/Berlin)').waitFor()
    await assertAxeCleanEverywhere(page, 'node with a window')
    await clickAsPerson(button('Remove'))
    await inDialog('Remove').click()
    await page.getByText('No window. Updates can start at any time').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Update the devices of this node' }).count(), 1)
  })

  test('shows the updates of an asset, and reads a log file from it', async () => {
    const input = { params: { id: await campaignId() }, query: { state: 'succeeded' as const } }
    await until('a device is updated', async () => (await caller.updates.listDevices(input)).data.length > 0)
    const assetId = (await caller.updates.listDevices(input)).data[0]?.assetId
    await follow(page, `/assets/${assetId}?tab=updates`)
    await page.getByText('Already up to date').waitFor()
    await page.getByRole('link', { name: 'Controllers of the plant' }).waitFor()
    await clickAsPerson(button('Read log file'))
    await page.getByText('Finished', { exact: true }).waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), button('Download Log file').click()])
    assert.ok(readFileSync(await download.path(), 'utf8').includes('99.1.0'))
    await assertAxeCleanEverywhere(page, 'updates of an asset')
  })

  test('uploads an artefact in parts, continues after a lost connection and after a reload, and cancels', async () => {
    const content = randomBytes(8.5 * 1024 * 1024)
    const file = written('controller-1.4.2.bin', content)
    await follow(page, '/updates?view=artefacts&add=yes')
    await chooseFile(file)
    await dialog().getByText(createHash('sha256').update(content).digest('hex')).waitFor()
    assert.equal(await dialog().getByRole('textbox', { name: 'Version', exact: true }).inputValue(), '1.4.2')
    await inDialog('Upload').click()
    await dialog().getByText('Required', { exact: true }).first().waitFor()
    await describeArtefact({ name: 'Large file' })
    await assertAxeClean(page, 'upload dialog')
    // The second part never arrives, so that the upload waits and can be interrupted by a reload.
    const ranges: string[] = []
    const allowParts = await routeUntil(page, /\/updates\/v1\/artefacts\/[^/]+\/content$/, async (route) => {
      const range = route.request().headers()['content-range']
      if (range !== undefined) ranges.push(range)
      if (range === undefined || range.startsWith('bytes 0-')) await route.continue()
      else await route.abort('connectionreset')
    })
    await inDialog('Upload').click()
    await until('the first part is stored', () => ranges.some((range) => !range.startsWith('bytes 0-')))
    await dialog().getByText('The connection was lost.').waitFor()
    await assertAxeClean(page, 'interrupted upload')
    // The page tries to send the second part again, so parts are refused until the page is reloaded.
    await page.reload()
    allowParts()
    await heading('Updates')
    await page.getByText('94% uploaded').waitFor()
    await chooseFile(file)
    await dialog().getByText('The upload of this file as Large file is not complete.').waitFor()
    await clickAsPerson(inDialog('Continue upload'))
    await dialog().getByText('Upload complete').waitFor()
    await dialog().getByText('Not signed').waitFor()
    assert.match(ranges[0] ?? '', /^bytes 0-8388607\/8912896$/)
    await dialog().getByRole('link', { name: 'Open artefact' }).click()
    await heading('Large file 1.4.2')
    const [download] = await Promise.all([page.waitForEvent('download'), button('Download').click()])
    assert.ok(readFileSync(await download.path()).equals(content))
    await clickAsPerson(button('Delete'))
    await inDialog('Delete').click()
    await page.getByText('2 artefacts', { exact: true }).waitFor()
    await clickAsPerson(button('Upload artefact'))
    await chooseFile(written('canceled-1.0.bin', randomBytes(1_000)))
    await describeArtefact({ name: 'Canceled' })
    const allowContent = await routeUntil(page, /\/content$/, (route) => route.abort('connectionreset'))
    await inDialog('Upload').click()
    await inDialog('Cancel upload').click()
    allowContent()
    await page.getByText('2 artefacts', { exact: true }).waitFor()
  })

  test('lets a user without the permission for updates only read', async () => {
    const viewer = { name: 'reader', password }
    const { data: user } = await caller.identity.createUser({ body: { data: viewer } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'viewer' } } })
    const { page: other, context } = await consoleBrowser.open()
    await consoleBrowser.signIn(other, { user: viewer, path: '/updates' })
    await other.getByText('Controllers of the plant').click()
    await heading('Controllers of the plant', other)
    await other.getByRole('grid', { name: 'Devices' }).waitFor()
    for (const name of ['Delete', 'Retry failed devices', 'Edit']) {
      assert.equal(await other.getByRole('button', { name, exact: true }).count(), 0, name)
    }
    await follow(other, '/updates/campaigns/new')
    await other.getByText('glb_update_manage').waitFor()
    assert.equal(await navigationTo(other, 'Updates').count(), 1)
    await context.close()
  })

  test('shows the waves, devices and failures of a campaign live, and updates a failed device again', async () => {
    await follow(page, `/updates/campaigns/${await campaignId()}`)
    await page.getByText(/^Finished with \d+ errors?$/).waitFor()
    const devices = page.getByRole('grid', { name: 'Devices' }).getByRole('row')
    await devices.filter({ hasText: 'Updated' }).first().waitFor()
    await devices.filter({ hasText: 'Failed' }).first().waitFor()
    await assertAxeCleanEverywhere(page, 'board of a campaign')
    await page
      .getByRole('button', { name: /Show devices/ })
      .first()
      .click()
    await page.getByText(/^Only: /).waitFor()
    assert.equal(await devices.filter({ hasText: 'Updated' }).count(), 0)
    await page.getByRole('checkbox', { name: 'Select row 1', exact: true }).check()
    await clickAsPerson(button('Retry selected (1)'))
    await dialog().getByText('The campaign updates 1 device again.').waitFor()
    await inDialog('Retry').click()
    await button('Show all').click()
    await page.getByText('Running', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'View job' }).first().click()
    await page.getByRole('link', { name: 'Controllers of the plant' }).click()
    await heading('Controllers of the plant')
    await page.getByRole('link', { name: 'View audit entries' }).click()
    await page.locator('.activity-row').filter({ hasText: 'approved the campaign' }).first().waitFor()
    await page.goBack()
    await heading('Controllers of the plant')
  })

  test('shows campaigns and artefacts in German', async () => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('deutsch')
    await page.keyboard.press('Enter')
    await page.getByText('Fehler nach Grund').waitFor()
    await follow(page, '/updates?view=artefacts')
    await page.getByText('Signatur gültig').waitFor()
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})

type ProductInformation = { manufacturer_product?: { product_id?: string; manufacturer?: { name?: string } } }
