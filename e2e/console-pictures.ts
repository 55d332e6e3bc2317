import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { consoleOf, narrow } from './console.ts'
import { type Place, type PlantIds, places } from './console-places.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { millwright } from './program.ts'

/**
 * `node tools/console-pictures.mjs [folder] [part of a name …]` takes pictures of every page of the console, in light
 * and dark themes and at a width of 320 pixels. The plant has 5,000 assets, a gateway, a finished discovery and a
 * hierarchy. If MILLWRIGHT_PICTURES_HOME names a folder, the plant stays in that folder for the next run.
 */

const assets = 5_000
const desk = { width: 1440, height: 900 }
const [folderName = 'pictures', ...parts] = process.argv.slice(2)
const folder = resolve(folderName)
const selectedPlaces = places.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)))

const kept = process.env.MILLWRIGHT_PICTURES_HOME
using temporary = kept === undefined ? temporaryFolder() : undefined
const home = kept ?? temporary?.path ?? ''
mkdirSync(folder, { recursive: true })
mkdirSync(home, { recursive: true })

const environment = {
  MILLWRIGHT_LOCAL_GATEWAY: 'on',
  MILLWRIGHT_GATEWAY_LINKS: 'plant',
  MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0',
  MILLWRIGHT_GATEWAY_PROXY_PORT: '0',
}
await using platform = await startPlatform({ home, environment })
const plantIds = await preparePlant(platform)
const { browser } = await openBrowser()
try {
  await takeAll(browser, plantIds)
} finally {
  await browser.close()
}

/** Generates a plant if the home does not contain one yet, and runs a scan. */
async function preparePlant(running: Platform): Promise<PlantIds> {
  const caller = await callerOf(running)
  const { meta } = await caller.inventory.listAssets({ query: { limit: 1 } })
  if ((meta.totalElements ?? 0) < assets) {
    const program = millwright(['plant', 'generate', '--assets', String(assets)], { home })
    const { code, stderr } = await program.ended
    if (code !== 0) throw new Error(`The plant was not generated: ${stderr}`)
  }
  const [asset] = (await caller.inventory.listAssets({ query: { q: 'PLC01', limit: 1, sort: 'name' } })).data
  return { assetId: String(asset?.id), ...(await discover(caller)), ...(await arrange(caller)) }
}

/** Creates a hierarchy with a node for each site, area and line, and assigns the assets of the lines. Reuses an existing hierarchy. */
async function arrange(caller: Caller): Promise<Pick<PlantIds, 'hierarchyId' | 'nodeId'>> {
  const [existing] = (await caller.hierarchy.listHierarchies({})).data
  if (existing !== undefined) {
    const { data } = await caller.hierarchy.listNodes({ params: { id: existing.id }, query: { q: 'Line 1' } })
    return { hierarchyId: existing.id, nodeId: String(data[0]?.id) }
  }
  const { data: tree } = await caller.hierarchy.createHierarchy({
    body: { data: { name: 'Production', template: 'plant' } },
  })
  const lines = await lineCodes(caller)
  const nodes = new Map<string, { key: string; name: string; parentKey?: string }>()
  for (const code of lines) {
    const [site = '', area = '', line = ''] = code.split('-')
    nodes.set(site, { key: site, name: site })
    nodes.set(`${site}-${area}`, { key: `${site}-${area}`, name: `${area} hall`, parentKey: site })
    nodes.set(code, { key: code, name: `Line ${Number(line.slice(1))}`, parentKey: `${site}-${area}` })
  }
  const { data: created } = await caller.hierarchy.createNodes({
    params: { id: tree.id },
    body: { data: { nodes: [...nodes.values()] } },
  })
  const idOf = (key: string) => String(created.find((node) => node.key === key)?.id)
  const [first = ''] = lines
  const rules = [{ nodeId: idOf(first), namePattern: '*SEN*' }]
  await caller.hierarchy.replaceRules({ params: { id: tree.id }, body: { data: { rules } } })
  for (const code of lines) {
    const filter = `startswith(name, '${code}-')`
    await caller.hierarchy.assignAssets({ params: { id: idOf(code) }, body: { data: { filter } } })
  }
  const isOver = async () => {
    const { data } = await caller.hierarchy.listAssignments({ query: { limit: 100 } })
    return data.every(({ state }) => state === 'finished')
  }
  await until('all assets are assigned', isOver, 240_000)
  return { hierarchyId: tree.id, nodeId: idOf(first) }
}

/** Returns the codes of the production lines, such as `AAR-PRES-L01`, which the names of assets begin with. */
async function lineCodes(caller: Caller): Promise<string[]> {
  const codes = new Set<string>()
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) }
    const { data, meta } = await caller.inventory.listAssets({ query })
    for (const { name } of data) {
      const code = /^[A-Z]+-[A-Z]+-L\d+(?=-)/.exec(String(name))?.[0]
      if (code !== undefined) codes.add(code)
    }
    cursor = meta.nextCursor
    if (cursor === undefined) return [...codes].toSorted()
  }
}

async function discover(caller: Caller): Promise<Pick<PlantIds, 'gatewayId' | 'scanId' | 'jobId'>> {
  let gatewayId = ''
  let assetLinkId = ''
  await until('the plant is online', async () => {
    const [gateway] = (await caller.onboarding.listGateways({})).data
    if (gateway?.state !== 'online') return false
    const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    gatewayId = gateway.id
    assetLinkId = links.find(({ reachable }) => reachable)?.assetLinkId ?? ''
    return assetLinkId !== ''
  })
  const [existing] = (await caller.discovery.listDiscoveries({ query: { limit: 1 } })).data
  const { jobId: scanId } =
    existing ??
    (await caller.discovery.createDiscovery({
      params: { gatewayId },
      body: { data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '80' }] } },
    }))
  const isOver = async () =>
    ['finished', 'failed', 'canceled'].includes(
      (await caller.discovery.getDiscovery({ params: { jobId: scanId } })).data.state,
    )
  await until('the discovery ends', isOver, 120_000)
  const [job] = (await caller.jobs.listJobs({ query: { type: 'discovery', limit: 1 } })).data
  return { gatewayId, scanId, jobId: String(job?.id) }
}

async function takeAll(opened: Browser, ids: PlantIds): Promise<void> {
  const consoleBrowser = consoleOf(platform, opened)
  for (const [kind, options] of [
    ['light', { colorScheme: 'light', viewport: desk }],
    ['dark', { colorScheme: 'dark', viewport: desk }],
    ['phone', { colorScheme: 'light', viewport: narrow }],
  ] as const) {
    const { context, page } = await consoleBrowser.open(options)
    await consoleBrowser.signIn(page)
    for (const place of selectedPlaces) await take(place, kind)
    await context.close()

    async function take({ name, path, prepare }: Place, suffix: string): Promise<void> {
      await page.goto(`/console${path(ids)}`)
      await page.locator('ix-application h1').waitFor()
      await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {})
      await prepare?.(page)
      await page.waitForTimeout(400)
      await page.screenshot({ path: join(folder, `${name}-${suffix}.png`) })
      process.stdout.write(`${name}-${suffix}.png\n`)
    }
  }
  for (const violation of consoleBrowser.violations) process.stdout.write(`! ${violation}\n`)
}
