import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import type { Browser, Page, Request } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, type ConsoleBrowser, consoleOf, follow, mainHeading } from './console.ts'
import { type PlantIds, places } from './console-places.ts'
import { prepareEmptyPlant } from './picture-plant.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { plantGateway } from './shop-floor.ts'
import { stepTimeoutMs } from './time-limit.ts'

/** The pages that are opened in every run. */
const alwaysOpened = [
  ...['start', 'inbox', 'assets', 'asset', 'hierarchy', 'topology', 'activity', 'discovery', 'scan', 'credentials'],
  ...['monitoring', 'updates', 'remote-access', 'jobs', 'access', 'webhooks'],
]

/**
 * Opens every page of the console once, with a gateway, a scan and a hierarchy. Most pages are opened only in long runs.
 * The long tests follow the journeys of users on these pages.
 */
describe('every page of the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let page: Page
  let ids: PlantIds
  const failedRequests: string[] = []
  const pendingRequests = new Set<Request>()

  before(async () => {
    ;[platform, { browser }] = await Promise.all([
      startPlatform({ home: folder.path, environment: plantGateway }),
      openBrowser(),
    ])
    const admin = await callerOf(platform)
    const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Production' } } })
    await admin.hierarchy.createNodes({
      params: { id: tree.id },
      body: { data: { nodes: [{ key: 'line', name: 'Line 1' }] } },
    })
    ids = await prepareEmptyPlant(platform)
    const [asset] = (await admin.inventory.listAssets({ query: { limit: 1 } })).data
    ids.assetId = String(asset?.id ?? assert.fail('the scan has found no asset'))
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open({ viewport: { width: 1440, height: 900 } }))
    page.on('response', (response) => {
      // A hierarchy node without a maintenance window has no such resource.
      const isExpected = response.status() === 404 && response.url().includes('/updates/v1/windows/')
      if (response.status() >= 400 && !isExpected) failedRequests.push(`${response.status()} ${response.url()}`)
    })
    // The event stream of the console is always open.
    page.on('request', (request) => request.url().includes('/stream') || pendingRequests.add(request))
    const end = (request: Request) => pendingRequests.delete(request)
    page.on('requestfinished', end).on('requestfailed', end)
    await consoleBrowser.signIn(page)
    failedRequests.length = 0
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const pages = places.filter(({ prepare }) => prepare === undefined)
  for (const { name, path } of pages) {
    const options = alwaysOpened.includes(name) ? {} : onlyInLongRuns
    test(`shows the page "${name}" without a failed request, and the page is accessible`, options, async () => {
      await follow(page, path(ids))
      await mainHeading(page).waitFor()
      await until(`the page "${name}" has all its data`, () => pendingRequests.size === 0, stepTimeoutMs)
      await assertAxeClean(page, name)
      assert.deepEqual(failedRequests.splice(0), [])
    })
  }

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.ok(pages.length > 0)
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
