import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { createFirmware } from '@millwright/links/plant/firmware.ts'
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
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { assertOverlayReachable, clickAsPerson } from './reachability.ts'
import { discover, over } from './shop-floor.ts'

const password = `the ${plantedWord} of a user`

/** `Signer` signs artefacts like the program minisign. */
class Signer {
  readonly #privateKey: KeyObject
  readonly #id = randomBytes(8)
  readonly publicKey: string

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    this.#privateKey = privateKey
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    this.publicKey = Buffer.concat([Buffer.from('Ed'), this.#id, raw]).toString('base64')
  }

  signatureOf(content: Buffer): string {
    const bytes = sign(undefined, createHash('blake2b512').update(content).digest(), this.#privateKey)
    const comment = 'release'
    const global = sign(undefined, Buffer.concat([bytes, Buffer.from(comment)]), this.#privateKey)
    return [
      'untrusted comment: signature of the plant',
      Buffer.concat([Buffer.from('ED'), this.#id, bytes]).toString('base64'),
      `trusted comment: ${comment}`,
      global.toString('base64'),
      '',
    ].join('\n')
  }
}

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
    const environment = {
      MILLWRIGHT_LOCAL_GATEWAY: 'on',
      MILLWRIGHT_GATEWAY_LINKS: 'plant',
      MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0',
      MILLWRIGHT_GATEWAY_PROXY_PORT: '0',
    }
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path, environment }), openBrowser()])
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
    let gatewayId = ''
    await until('the gateway is online', async () => {
      const [gateway] = (await caller.onboarding.listGateways({})).data
      gatewayId = gateway?.id ?? ''
      return gateway?.state === 'online'
    })
    const options = { size: '60', update_fault_percent: '30', update_faults: 'fails-at-60', update_restart_ms: '100' }
    await over(caller, await discover(caller, gatewayId, options), 120_000)
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
    return (
      [...products.values()].toSorted((a, b) => b.assets.length - a.assets.length)[0] ?? assert.fail('no products')
    )
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

  test('explains campaigns, artefacts and trust anchors when there are none', async () => {
    await page.getByText('No campaigns yet').waitFor()
    await assertAxeClean(page, 'list without campaigns')
    await tab('Artefacts')
    await page.getByText('No artefacts yet').waitFor()
    await assertAxeClean(page, 'list without artefacts')
    await tab('Trust')
    await page.getByText('No trust anchors yet').waitFor()
    await assertAxeCleanEverywhere(page, 'trust without anchors')
  })

  test('adds a trust anchor, and allows unsigned artefacts only after a warning', async () => {
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
    assert.ok(await inDialog('Allow unsigned artefacts').isDisabled())
    await dialog().getByLabel('I know the risk').check()
    await inDialog('Allow unsigned artefacts').click()
    await page.getByText('Unsigned artefacts can be installed on all devices of this tenant.').waitFor()
    await assertAxeCleanEverywhere(page, 'trust with unsigned artefacts')
    await allow.click()
    await page.getByText('Unsigned artefacts can be installed on all devices').waitFor({ state: 'detached' })
  })

  test('uploads an artefact in parts, continues after a lost connection and after a reload, and cancels', async () => {
    const content = randomBytes(17 * 1024 * 1024)
    const file = written('controller-1.4.2.bin', content)
    await follow(page, '/updates?view=artefacts&add=yes')
    await chooseFile(file)
    await dialog().getByText(createHash('sha256').update(content).digest('hex')).waitFor()
    assert.equal(await dialog().getByLabel('Version', { exact: true }).inputValue(), '1.4.2')
    await inDialog('Upload').click()
    await dialog().getByText('Required', { exact: true }).first().waitFor()
    await describeArtefact({ name: 'Large file' })
    await assertAxeClean(page, 'upload dialog')
    // The second part never arrives, so that the upload waits and can be interrupted by a reload.
    const ranges: string[] = []
    await page.route(/\/updates\/v1\/artefacts\/[^/]+\/content$/, async (route) => {
      const range = route.request().headers()['content-range']
      if (range !== undefined) ranges.push(range)
      if (range === undefined || range.startsWith('bytes 0-')) await route.continue()
      else await route.abort('connectionreset')
    })
    await inDialog('Upload').click()
    await dialog().getByText('The connection was lost.').waitFor()
    await assertAxeClean(page, 'interrupted upload')
    await page.unrouteAll()
    await page.reload()
    await heading('Updates')
    await page.getByText('49% uploaded').waitFor()
    await chooseFile(file)
    await dialog().getByText('The upload of Large file with the same file is not complete.').waitFor()
    await clickAsPerson(inDialog('Continue upload'))
    await dialog().getByText('Upload complete').waitFor()
    await dialog().getByText('Not signed').waitFor()
    assert.match(ranges[0] ?? '', /^bytes 0-8388607\/17825792$/)
    await dialog().getByRole('link', { name: 'Open artefact' }).click()
    await heading('Large file 1.4.2')
    const [download] = await Promise.all([page.waitForEvent('download'), button('Download').click()])
    assert.ok(readFileSync(await download.path()).equals(content))
    await clickAsPerson(button('Delete'))
    await inDialog('Delete').click()
    await page.getByText('No artefacts yet').waitFor()
    await clickAsPerson(button('Upload artefact'))
    await chooseFile(file)
    await describeArtefact({ name: 'Canceled' })
    await page.route(/\/content$/, (route) => route.abort('connectionreset'))
    await inDialog('Upload').click()
    await inDialog('Cancel upload').click()
    await page.unrouteAll()
    await page.getByText('No artefacts yet').waitFor()
  })
})

type ProductInformation = { manufacturer_product?: { product_id?: string; manufacturer?: { name?: string } } }
