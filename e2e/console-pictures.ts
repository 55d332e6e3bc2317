import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openBrowser } from './browser.ts'
import { type ConsoleBrowser, consoleOf, narrow } from './console.ts'
import { emptyPlaces, type Place, type PlantIds, places } from './console-places.ts'
import { fillHistory, prepareEmptyPlant, preparePlant } from './picture-plant.ts'
import { type Platform, startPlatform, temporaryFolder } from './platform.ts'
import { plantGateway } from './shop-floor.ts'

/**
 * `node tools/console-pictures.mjs [folder] [part of a name …]` takes pictures of every page of the console, in light
 * and dark themes and at a width of 320 pixels. The plant has 5,000 assets and is in use, see `picture-plant.ts`. The
 * plant has a history of twelve days, so the program needs root and a C compiler, see `past-clock.ts`. The
 * pictures whose names end with `-empty` show a second platform that is nearly empty. If MILLWRIGHT_PICTURES_HOME names a
 * folder, the plants stay in that folder for the next run.
 */

const desk = { width: 1440, height: 900 }
const [folderName = 'pictures', ...parts] = process.argv.slice(2)
const folder = resolve(folderName)
const isSelected = ({ name }: Place) => parts.length === 0 || parts.some((part) => name.includes(part))

const kept = process.env.MILLWRIGHT_PICTURES_HOME
using temporary = kept === undefined ? temporaryFolder() : undefined
using temporaryEmpty = kept === undefined ? temporaryFolder('empty') : undefined
mkdirSync(folder, { recursive: true })

const home = kept ?? temporary?.path ?? ''
const environmentInUse = {
  ...plantGateway,
  MILLWRIGHT_GATEWAY_LINKS: 'plant,snmp,opcua',
  MILLWRIGHT_OUTBOUND_ALLOW: '127.0.0.1',
}
const placesInUse = places.filter(isSelected)
if (placesInUse.length > 0) await fillHistory({ home, environment: environmentInUse })
await takePlaces(placesInUse, { home, environment: environmentInUse, prepare: preparePlant })
await takePlaces(emptyPlaces.filter(isSelected), {
  home: kept === undefined ? (temporaryEmpty?.path ?? '') : `${kept}-empty`,
  environment: plantGateway,
  prepare: prepareEmptyPlant,
})

type PicturedPlant = {
  home: string
  environment: Record<string, string>
  prepare: (platform: Platform) => Promise<PlantIds>
}

/** Starts a platform, prepares its plant and takes the pictures of its places. */
async function takePlaces(selected: readonly Place[], { home, environment, prepare }: PicturedPlant): Promise<void> {
  if (selected.length === 0) return
  mkdirSync(home, { recursive: true })
  await using platform = await startPlatform({ home, environment })
  const ids = await prepare(platform)
  const { browser } = await openBrowser()
  try {
    await takeAll(consoleOf(platform, browser), { selected, ids })
  } finally {
    await browser.close()
  }
}

async function takeAll(
  consoleBrowser: ConsoleBrowser,
  { selected, ids }: { selected: readonly Place[]; ids: PlantIds },
): Promise<void> {
  for (const [kind, options] of [
    ['light', { colorScheme: 'light', viewport: desk }],
    ['dark', { colorScheme: 'dark', viewport: desk }],
    ['phone', { colorScheme: 'light', viewport: narrow }],
  ] as const) {
    const { context, page } = await consoleBrowser.open(options)
    await consoleBrowser.signIn(page)
    for (const place of selected) await take(place, kind)
    await context.close()

    async function take({ name, path, prepare }: Place, suffix: string): Promise<void> {
      await page.goto(`/console${path(ids)}`)
      await page.locator('ix-application h1').waitFor()
      await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {})
      await prepare?.(page)
      await page.waitForFunction(isLoaded, undefined, { timeout: 20_000 }).catch(() => {})
      await page.waitForTimeout(400)
      await page.screenshot({ path: join(folder, `${name}-${suffix}.png`) })
      process.stdout.write(`${name}-${suffix}.png\n`)
    }
  }
  for (const violation of consoleBrowser.violations) process.stdout.write(`! ${violation}\n`)
}

/** Returns true when no part of the page waits for data. It runs in the browser. */
function isLoaded(): boolean {
  const isWaiting = document.querySelector('.waiting, [aria-busy="true"]') !== null
  return !isWaiting && !document.body.textContent.includes('Counting…')
}
