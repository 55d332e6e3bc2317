import type { Page } from 'playwright-core'

/** What the plant of the pictures has: ids for pages about one thing. */
export type Known = { assetId: string; gatewayId: string; jobId: string }

export type Place = {
  name: string
  path: (known: Known) => string
  /** What to do before the picture is taken: open a dialog, wait for something. */
  prepare?: (page: Page) => Promise<unknown>
}

/** Every page of the console: pictures are taken of them, and each is looked at before it is called done. */
export const places: readonly Place[] = [
  { name: 'start', path: () => '/' },
  { name: 'inbox', path: () => '/inbox' },
  { name: 'assets', path: () => '/assets' },
  { name: 'account', path: () => '/account' },
  { name: 'command-palette', path: () => '/account', prepare: (page) => page.keyboard.press('Control+k') },
]
