import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, type ConsoleBrowser, consoleOf, follow, untilDisabled } from './console.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder, tokenOf } from './platform.ts'

const fitter = { name: 'fitter', password: `the ${plantedWord} of a user` }

describe('access management in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open())
    await consoleBrowser.signIn(page, { path: '/access' })
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const tab = (name: string) => page.getByRole('tab', { name, exact: true })

  test('adds a user, assigns a role in one access group, and explains the access of the user', async () => {
    await tab('Access groups').click()
    await button('Add access group').click()
    await page.getByLabel('Name').fill('Line 7')
    await button('Save').click()
    await page.getByRole('gridcell', { name: 'Line 7' }).waitFor()
    await tab('Users').click()
    await button('Add user').click()
    await page.getByLabel('User name').fill(fitter.name)
    await page.getByLabel('Password').fill(fitter.password)
    await button('Add').click()
    await page.getByText('No roles assigned').waitFor()
    await button('Assign role').click()
    await page.getByLabel('Role', { exact: true }).selectOption('viewer')
    await page.getByLabel('Scope', { exact: true }).selectOption({ label: 'Line 7' })
    await assertAxeClean(page, 'assign role dialog')
    await button('Assign').click()
    await page.getByRole('cell', { name: 'Line 7' }).waitFor()
    await assertAxeClean(page, 'user page')
    await follow(page, '/access?view=why')
    await page.getByLabel('Account', { exact: true }).selectOption({ label: 'fitter (User)' })
    await page.getByLabel('Permission', { exact: true }).selectOption('inventory_read_asset_data')
    await page.getByText('Not allowed').waitFor()
    await page.getByLabel('Access group', { exact: true }).selectOption({ label: 'Line 7' })
    await page.getByText('Allowed', { exact: true }).waitFor()
    await page.getByText(/The role viewer is assigned in the access group Line 7/).waitFor()
    await assertAxeClean(page, 'access check')
  })

  test('opens views and dialogs from the command palette, and removes a closed dialog from the URL', async () => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('access group')
    await page.getByRole('option', { name: /^Add access group/ }).click()
    await page.getByRole('dialog', { name: 'Add access group' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(new URL(page.url()).search, '?view=groups')
    await page.getByRole('gridcell', { name: 'default' }).click()
    await page.getByText('The default group cannot be renamed or deleted.').waitFor()
    assert.equal(await button('Delete').count(), 0)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('deutsch')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'Rollen', exact: true }).click()
    await page.getByRole('gridcell', { name: 'Bearbeitet Assets und startet Suchläufe' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('english')
    await page.keyboard.press('Enter')
    await tab('Roles').waitFor()
  })

  test('hides pages that need another permission, and names the permission when such a page is opened directly', async () => {
    const { context, page: fitterPage } = await consoleBrowser.open()
    await consoleBrowser.signIn(fitterPage, { user: fitter, path: '/access' })
    await fitterPage.getByText('glb_access_manage').waitFor()
    assert.equal(await fitterPage.locator('ix-menu-item').filter({ hasText: 'Access' }).count(), 0)
    await context.close()
  })

  test('shows gateways and asset links, but no inbox, on the start page of a user who manages credentials', async () => {
    const caller = await callerOf(platform)
    const manager = { name: 'locksmith', password: fitter.password }
    const { data: user } = await caller.identity.createUser({ body: { data: manager } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'credential_manager' } } })
    const { context, page: managerPage } = await consoleBrowser.open()
    await consoleBrowser.signIn(managerPage, { user: manager })
    await managerPage.getByRole('link', { name: /^Assets/ }).waitFor()
    assert.equal(await managerPage.locator('a[href$="/inbox"]').count(), 0)
    await context.close()
  })

  test('shows the secret of a service account once, and invalidates it when a new one is created', async () => {
    await follow(page, '/access?view=programs')
    await button('Add service account').click()
    await page.getByLabel('Name').fill('historian')
    await button('Add').click()
    const shown = page.getByRole('dialog').locator('code')
    await shown.first().waitFor()
    await assertAxeClean(page, 'secret dialog')
    const [clientId = '', clientSecret = ''] = await shown.allTextContents()
    const token = await tokenOf(platform.baseUrl, { clientId, clientSecret })
    const isAccepted = async () => {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${platform.baseUrl}/inventory/v2/schemas`, { headers })).status !== 401
    }
    assert.ok(await isAccepted())
    await button('Done').click()
    await page.getByRole('heading', { level: 1, name: 'historian' }).waitFor()
    assert.ok(!(await page.content()).includes(clientSecret), 'the secret is still on the page')
    await button('Edit').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('historian of hall 3')
    await button('Save').click()
    await page.getByRole('heading', { level: 1, name: 'historian of hall 3' }).waitFor()
    await button('New secret').click()
    await page.getByRole('dialog').getByLabel('Also revoke the access tokens').check()
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click()
    await button('Done').click()
    assert.ok(!(await isAccepted()), 'the access token of the old secret is still accepted')
    await assert.rejects(tokenOf(platform.baseUrl, { clientId, clientSecret }))
  })

  test('creates a custom role from permissions, and shows built-in roles read-only', async () => {
    await follow(page, '/access?view=roles')
    await button('Add role').click()
    await page.getByLabel('Name').fill('scanner')
    await page.getByLabel('Description').fill('Runs scans')
    await page.getByLabel(/Run and schedule discoveries/).check()
    await assertAxeClean(page, 'role dialog')
    await button('Save').click()
    await page.getByRole('gridcell', { name: 'Runs scans' }).waitFor()
    await page.getByRole('gridcell', { name: 'viewer' }).click()
    await untilDisabled(page.getByLabel(/Read assets/))
  })

  test('adds a custom property and shows the asset schemas', async () => {
    await follow(page, '/model')
    await page.getByText('No custom properties yet').waitFor()
    await button('Add property').click()
    await page.getByLabel('Name').fill('Cost centre')
    await button('Save').click()
    await page.getByRole('gridcell', { name: 'Cost centre' }).waitFor()
    await tab('Asset schemas').click()
    await page.getByText('Built-in').first().waitFor()
    await assertAxeClean(page, 'schemas')
    await page.getByRole('gridcell', { name: 'Asset', exact: true }).click()
    await page.getByRole('dialog').getByText('$defs:', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
