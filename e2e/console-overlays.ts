import type { Locator, Page } from 'playwright-core'
import { follow, narrow, wide } from './console.ts'
import { until } from './platform.ts'
import { assertOverlayReachable, clickAsPerson, overlayOf } from './reachability.ts'

/**
 * `Overlay` is a menu or dialog of the console, with the clicks that open it. The first click is usually on a button,
 * and later clicks are on entries of the menu that it opens.
 */
type Overlay = { path: string; clicks: ((page: Page) => Locator)[] }

const button = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name, exact: true }).first()
const entry = (name: string) => (page: Page) => page.getByRole('menuitem', { name, exact: true })
const cell = (name: string) => (page: Page) => page.getByRole('gridcell', { name, exact: true }).first()
const checkbox = (page: Page) => page.getByRole('checkbox', { name: 'Select row 1', exact: true })

/**
 * Returns the menus and dialogs that need no data except a gateway. The tests of the individual areas open all other
 * menus and dialogs.
 */
export function overlaysOf({ gatewayId }: { gatewayId: string }): Overlay[] {
  const asset = `/assets/${gatewayId}`
  const gateway = `/discovery/gateways/${gatewayId}`
  return [
    { path: '/account', clicks: [(page) => page.getByTitle('Account menu')] },
    { path: '/account', clicks: [button(/^Search/)] },
    { path: '/account?view=security', clicks: [button('Add passkey')] },
    { path: '/account?view=sessions', clicks: [button('Sign out everywhere')] },
    { path: '/assets', clicks: [button('Views')] },
    { path: '/assets', clicks: [button('Views'), entry('Save view…')] },
    { path: '/assets', clicks: [button('Columns')] },
    { path: '/assets', clicks: [checkbox, button('Edit…')] },
    { path: '/assets?sort=created_timestamp', clicks: [checkbox, button('More'), entry('Delete…')] },
    { path: '/assets?sort=-name', clicks: [checkbox, button('Assign to node…')] },
    { path: '/hierarchy', clicks: [button('Create hierarchy')] },
    { path: asset, clicks: [button('Connect')] },
    { path: asset, clicks: [button('More')] },
    { path: asset, clicks: [button('More'), entry('Move to another access group…')] },
    { path: asset, clicks: [button('More'), entry('Delete…')] },
    { path: `${asset}?tab=relations`, clicks: [button('Add relation')] },
    { path: '/discovery', clicks: [button('Add gateway')] },
    { path: '/discovery?scan=any', clicks: [] },
    { path: gateway, clicks: [button('New configuration file')] },
    { path: gateway, clicks: [button('Revoke access')] },
    { path: gateway, clicks: [button('Delete')] },
    { path: '/credentials', clicks: [button('Add credentials')] },
    { path: '/credentials?view=schemas', clicks: [button('Import from asset link')] },
    { path: '/credentials?view=schemas', clicks: [button('Upload credential type')] },
    { path: '/credentials?view=templates', clicks: [button('Add monitoring set')] },
    { path: '/remote?view=policies', clicks: [cell('default')] },
    { path: '/jobs?add=yes', clicks: [] },
    { path: '/workflows', clicks: [button('Add workflow')] },
    { path: '/model', clicks: [button('Add property')] },
    { path: '/model?view=schemas', clicks: [button('Add schema')] },
    { path: '/model?view=schemas', clicks: [cell('Asset')] },
    { path: '/access', clicks: [button('Add user')] },
    { path: '/access?view=programs', clicks: [button('Add service account')] },
    { path: '/access?view=roles', clicks: [button('Add role')] },
    { path: '/access?view=roles', clicks: [cell('viewer')] },
    { path: '/access?view=groups', clicks: [button('Add access group')] },
    { path: '/access?view=groups', clicks: [cell('default')] },
    { path: '/access?view=grants', clicks: [button('Assign role')] },
    { path: '/access?view=providers', clicks: [button('Add identity provider')] },
    { path: '/activity', clicks: [button('Export')] },
  ]
}

/**
 * Opens a menu or dialog with the mouse. Checks that every control in it can be clicked, both at the width of a desktop
 * and at the width of a phone.
 */
export async function assertUsable(page: Page, { path, clicks }: Overlay): Promise<string> {
  if (!page.url().endsWith(`/console${path}`)) await follow(page, path)
  for (const target of clicks) await clickAsPerson(target(page))
  await overlayOf(page).waitFor()
  const name = `${path} ${await nameOf(overlayOf(page))}`
  for (const viewport of [wide, narrow]) {
    await page.setViewportSize(viewport)
    await assertOverlayReachable(page, `${name}, ${viewport.width} pixels`)
  }
  await page.setViewportSize(wide)
  await until(`${name} closes with Escape`, () => closes(page))
  return name
}

/** Presses Escape. A dialog ignores the key while it is rendered again for the other width. */
async function closes(page: Page): Promise<boolean> {
  await page.keyboard.press('Escape')
  return overlayOf(page)
    .waitFor({ state: 'detached', timeout: 3_000 })
    .then(
      () => true,
      () => false,
    )
}

function nameOf(overlay: Locator): Promise<string> {
  return overlay.evaluate(
    (element) =>
      element.querySelector('[role=menu]')?.getAttribute('aria-label') ??
      element.querySelector('h2')?.textContent ??
      '',
  )
}
