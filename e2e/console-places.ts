import type { Page } from 'playwright-core'

/** What the plant of the pictures has: ids for pages about one thing. */
export type Known = { assetId: string; gatewayId: string; jobId: string }

export type Place = {
  name: string
  path: (known: Known) => string
  /** What to do before the picture is taken: open a dialog, wait for something. */
  prepare?: (page: Page) => Promise<unknown>
}

/** The picture of a graph is there, and its things have found their places. */
function settled(page: Page): Promise<unknown> {
  return page.locator('.graph-canvas[data-settled="true"]').waitFor({ timeout: 120_000 })
}

/** Every page of the console: pictures are taken of them, and each is looked at before it is called done. */
export const places: readonly Place[] = [
  { name: 'start', path: () => '/' },
  { name: 'inbox', path: () => '/inbox' },
  { name: 'assets', path: () => '/assets' },
  { name: 'asset', path: ({ assetId }) => `/assets/${assetId}` },
  { name: 'asset-relations', path: ({ assetId }) => `/assets/${assetId}?tab=relations`, prepare: settled },
  { name: 'asset-identity', path: ({ assetId }) => `/assets/${assetId}?tab=identity` },
  { name: 'asset-history', path: ({ assetId }) => `/assets/${assetId}?tab=history` },
  { name: 'topology', path: () => '/topology', prepare: settled },
  { name: 'account', path: () => '/account' },
  { name: 'command-palette', path: () => '/account', prepare: (page) => page.keyboard.press('Control+k') },
]
