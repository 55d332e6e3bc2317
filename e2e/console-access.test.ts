import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, consoleOf, type Door } from './console.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder, tokenOf } from './platform.ts'

const person = { name: 'fitter', password: `the ${plantedWord} of somebody` }

describe('access from the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let door: Door
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    door = consoleOf(platform, browser)
    ;({ page } = await door.visit())
    await door.enter(page, { path: '/access' })
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const tab = (name: string) => page.getByRole('tab', { name, exact: true })

  test('a person is added, is given a role in one access group, and why they may is explained', async () => {
    await tab('Access groups').click()
    await button('Add an access group').click()
    await page.getByLabel('Name').fill('Line 7')
    await button('Save').click()
    await page.getByRole('gridcell', { name: 'Line 7' }).waitFor()
    await tab('People').click()
    await button('Add a person').click()
    await page.getByLabel('Sign-in name').fill(person.name)
    await page.getByLabel('Password').fill(person.password)
    await button('Add').click()
    await page.getByText('They hold no role').waitFor()
    await button('Give a role').click()
    await page.getByLabel('Role', { exact: true }).selectOption('viewer')
    await page.getByLabel('Where', { exact: true }).selectOption({ label: 'Line 7' })
    await assertAxeClean(page, 'giving a role')
    await button('Give it').click()
    await page.getByRole('cell', { name: 'Line 7' }).waitFor()
    await assertAxeClean(page, 'a person')
    await page.goto('/console/access?view=why')
    await page.getByLabel('Who', { exact: true }).selectOption({ label: 'fitter (Person)' })
    await page.getByLabel('Permission', { exact: true }).selectOption('inventory_read_asset_data')
    await page.getByText('not allowed').waitFor()
    await page.getByLabel('In access group', { exact: true }).selectOption({ label: 'Line 7' })
    await page.getByText('allowed', { exact: true }).waitFor()
    await page.getByText(/because the role viewer/).waitFor()
    await assertAxeClean(page, 'why')
  })

  test('the command palette finds views and actions, and the way back does not lead into a dialog again', async () => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('access group')
    await page.getByRole('option', { name: /^Add an access group/ }).click()
    await page.getByRole('dialog', { name: 'Add an access group' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(new URL(page.url()).search, '?view=groups')
    await page.getByRole('gridcell', { name: 'default' }).click()
    await page.getByText('This group is in every tenant').waitFor()
    assert.equal(await button('Delete').count(), 0)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('deutsch')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'Rollen' }).click()
    await page.getByRole('gridcell', { name: 'Arbeitet an Assets und sucht Geräte' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('english')
    await page.keyboard.press('Enter')
    await tab('Roles').waitFor()
  })

  test('what they may not do is not offered to them, and a direct link says which permission is missing', async () => {
    const { context, page: theirs } = await door.visit()
    await door.enter(theirs, { person, path: '/access' })
    await theirs.getByText('glb_access_manage').waitFor()
    assert.equal(await theirs.locator('ix-menu-item').filter({ hasText: 'Access' }).count(), 0)
    await context.close()
  })

  test('the start page shows a credential manager the gateways and links, without a way to the inbox', async () => {
    const caller = await callerOf(platform)
    const manager = { name: 'locksmith', password: person.password }
    const { data: user } = await caller.identity.createUser({ body: { data: manager } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'credential_manager' } } })
    const { context, page: theirs } = await door.visit()
    await door.enter(theirs, { person: manager })
    await theirs.getByRole('link', { name: /^Assets/ }).waitFor()
    assert.equal(await theirs.locator('a[href$="/inbox"]').count(), 0)
    await context.close()
  })

  test('the secret of a program is shown once, works, and ends with the next one', async () => {
    await page.goto('/console/access?view=programs')
    await button('Add a program').click()
    await page.getByLabel('Name').fill('historian')
    await button('Add').click()
    const shown = page.getByRole('dialog').locator('code')
    await shown.first().waitFor()
    await assertAxeClean(page, 'the secret')
    const [clientId = '', clientSecret = ''] = await shown.allTextContents()
    const token = await tokenOf(platform.baseUrl, { clientId, clientSecret })
    const isAccepted = async () => {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${platform.baseUrl}/inventory/v2/schemas`, { headers })).status !== 401
    }
    assert.ok(await isAccepted())
    await button('I have it').click()
    await page.getByRole('heading', { level: 1, name: 'historian' }).waitFor()
    assert.ok(!(await page.content()).includes(clientSecret), 'it is still on the page')
    await button('Rename').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('historian of hall 3')
    await button('Save').click()
    await page.getByRole('heading', { level: 1, name: 'historian of hall 3' }).waitFor()
    await button('New secret').click()
    await page.getByRole('dialog').getByLabel('Also revoke the access tokens').check()
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click()
    await button('I have it').click()
    assert.ok(!(await isAccepted()), 'the access token of the old secret is still accepted')
    await assert.rejects(tokenOf(platform.baseUrl, { clientId, clientSecret }))
  })

  test('a role of one’s own is made from permissions; those that come with the product are only shown', async () => {
    await page.goto('/console/access?view=roles')
    await button('Add a role').click()
    await page.getByLabel('Name').fill('scanner')
    await page.getByLabel('What it is for').fill('Runs scans')
    await page.getByLabel(/Run and schedule discoveries/).check()
    await assertAxeClean(page, 'a role')
    await button('Save').click()
    await page.getByRole('gridcell', { name: 'Runs scans' }).waitFor()
    await page.getByRole('gridcell', { name: 'viewer' }).click()
    assert.ok(await page.getByLabel(/Read assets/).isDisabled())
  })

  test('custom properties and schemas are defined', async () => {
    await page.goto('/console/model')
    await page.getByText('No custom properties yet').waitFor()
    await button('Add a property').click()
    await page.getByLabel('Name').fill('Cost centre')
    await button('Save').click()
    await page.getByRole('gridcell', { name: 'Cost centre' }).waitFor()
    await tab('Asset schemas').click()
    await page.getByText('built in').first().waitFor()
    await assertAxeClean(page, 'schemas')
    await page.getByRole('gridcell', { name: 'Asset', exact: true }).click()
    await page.getByRole('dialog').getByText('$defs:', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('no page broke its own policy, threw, or asked anybody else for anything', () => {
    assert.deepEqual(door.offences, [])
  })
})
