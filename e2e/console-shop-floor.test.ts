import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, consoleOf, type Door } from './console.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder } from './platform.ts'
import { millwright, type Program } from './program.ts'
import { type Gateway, startGateway, startPlant } from './shop-floor.ts'

/** A scan of a busy machine takes its time. */
const patience = { timeout: 60_000 }
/** Nowhere but in the form that it was typed into. */
const password = 'user_password'

describe('a shop floor from the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let door: Door
  let page: Page
  let gateway: Gateway | undefined
  let plant: Program | undefined

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    door = consoleOf(platform, browser)
    ;({ page } = await door.visit({ acceptDownloads: true }))
    await door.enter(page, { path: '/discovery' })
  })

  after(async () => {
    await browser?.close()
    await plant?.[Symbol.asyncDispose]()
    await gateway?.program[Symbol.asyncDispose]()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })

  async function go(path: string, heading: string | RegExp): Promise<void> {
    await page.goto(`/console${path}`)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  }

  test('an empty shop floor says what to do, and a gateway comes in with the file that is downloaded', async () => {
    await page.getByText('No gateway yet').waitFor()
    await assertAxeClean(page, 'discovery without gateways')
    const caller = await callerOf(platform)
    await caller.authorization.createAccessGroup({ body: { data: { name: 'annex' } } })
    await button('Add a gateway').first().click()
    await page.getByLabel('Name').fill('Hall 3')
    const group = await page.getByLabel('Access group').locator('option:checked').textContent()
    assert.equal(group, 'default', 'the group that the gateway gets without a choice')
    await button('Create it').click()
    const [file] = await Promise.all([page.waitForEvent('download'), button('Download gateway-config.json').click()])
    await file.saveAs(join(folder.path, 'hall.json'))
    await page.getByText(/valid for 29 min/).waitFor()
    await assertAxeClean(page, 'onboarding')
    gateway = await startGateway('hall', { home: folder.path, id: '' })
    await page.getByText('The gateway is here').waitFor(patience)
    await button('Open the gateway').click()
    await page.getByRole('heading', { level: 1, name: 'Hall 3' }).waitFor()
    await button('Give a role').click()
    await page
      .getByLabel('Role', { exact: true })
      .locator('option:checked[value=operator]')
      .waitFor({ state: 'attached' })
    await page.keyboard.press('Escape')
    const gatewayPage = page.url()
    await page.getByRole('link', { name: 'Show it in the inventory' }).click()
    await button('More').click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByText('also revokes the gateway').waitFor()
    await page.goto(gatewayPage)
    await page.getByRole('heading', { level: 1, name: 'Hall 3' }).waitFor()
  })

  test('a link appears by itself, is asked for what it understands, and what it finds is shown while it comes', async () => {
    plant = startPlant(gateway ?? assert.fail(), { home: folder.path })
    await button('Scan').click(patience)
    await page.getByLabel('ip_range').waitFor()
    await page.getByText('How to look').click()
    await page.getByLabel('size').fill('40')
    await page.getByLabel('protected_percent').fill('20')
    await assertAxeClean(page, 'the scan dialog')
    await button('Start').click()
    await page.getByText('finished').first().waitFor(patience)
    await page.getByRole('tab', { name: /^New [1-9]/ }).waitFor()
    await page.getByRole('tab', { name: /^Errors [1-9]/ }).click()
    await assertAxeClean(page, 'a scan')
  })

  test('its errors are walked by keys; a dialog tells one in full, and Escape gives the row back', async () => {
    await page.getByRole('heading', { level: 1, name: 'Scan: Plant' }).waitFor()
    const rows = page.getByRole('grid', { name: 'Errors' }).getByRole('row')
    await rows.nth(1).focus()
    await page.keyboard.press('ArrowDown')
    // The focus follows with the next frame.
    await page.locator('[aria-rowindex="3"]:focus').waitFor()
    await page.keyboard.press('Enter')
    await page
      .getByRole('dialog')
      .getByText(/protected|credentials/i)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-rowindex')), '3')
  })

  test('what a scan was asked for is changed for its next runs', async () => {
    await button('Change').last().click()
    await page.getByLabel('protected_percent').fill('25')
    await button('Save').click()
    await page.getByText('protected_percent').locator('..').getByText('25').waitFor()
  })

  test('with credentials for their addresses, protected devices are found; their secret is shown nowhere', async () => {
    await go('/credentials?view=schemas', 'Credentials')
    await button('Take over from a link').click()
    await button('Take it over').click()
    await page.getByRole('gridcell', { name: 'millwright.links.plant' }).waitFor()
    await page.getByRole('tab', { name: 'Credentials' }).click()
    await button('Add a credential').click()
    await page.getByLabel('Name').fill('Reading')
    await page.getByLabel('User').fill('user')
    await page.getByLabel('Password').fill(password)
    await page.getByLabel('Addresses').fill('0.0.0.0/0')
    await assertAxeClean(page, 'a new credential')
    await button('Save').click()
    await page.getByRole('heading', { level: 1, name: 'Reading' }).waitFor()
    const credential = new URL(page.url()).pathname.replace('/console', '')
    const { data: scans } = await (await callerOf(platform)).discovery.listDiscoveries({ query: {} })
    await go(`/discovery/scans/${scans[0]?.jobId}`, 'Scan: Plant')
    await button('Run again').click()
    await page.getByRole('tab', { name: 'Errors 0' }).waitFor(patience)
    await page.getByText('finished').first().waitFor(patience)
    await go(credential, 'Reading')
    await page.getByText('worked').first().waitFor()
    await assertAxeClean(page, 'a credential')
    assert.ok(!(await page.content()).includes(password), 'the secret is on the page')
  })

  test('a scan that is planned says when it runs next, and can be paused', async () => {
    await go('/discovery?scan=any', 'Discovery')
    await page.getByLabel('When').selectOption('daily')
    await page.getByLabel('At', { exact: true }).fill('04:30')
    await button('Plan it').click()
    await page.getByText(/^30 4 \* \* \* /).waitFor()
    await button('Pause').click()
    await page.getByText('paused').waitFor()
    await button('Go on').click()
    await page.getByText('paused').waitFor({ state: 'detached' })
  })

  test('jobs, their workflows, events and the audit trail tell what happened', async () => {
    await go('/jobs', 'Jobs')
    await page.getByRole('row').nth(1).click()
    await page.getByRole('img', { name: /The workflow discovery/ }).waitFor()
    await assertAxeClean(page, 'a job')
    await go('/events?type=credentials', 'Events')
    await button('Show what happened before').click()
    await page
      .getByText(/^credentials\./)
      .first()
      .click()
    await page.getByRole('dialog').getByText('Position').waitFor()
    assert.ok(!(await page.content()).includes(password), 'the secret is in an event')
    await go('/audit?action=credentials.deliver', 'Audit')
    await page.getByRole('gridcell', { name: 'credentials.deliver' }).first().waitFor()
    await button('Check the chain').click()
    await page.getByText('The chain is whole').waitFor(patience)
  })

  test('a workflow that comes with the product stays; one of one’s own has jobs that are started by hand', async () => {
    await go('/workflows', 'Workflows')
    await page.getByText('built in: it stays').waitFor()
    assert.equal(await button('Delete').count(), 0)
    await button('Add a workflow').click()
    await button('Store it').click()
    await page.getByRole('heading', { level: 2, name: 'my.workflow' }).waitFor()
    await go('/jobs?type=my.workflow', 'Jobs')
    await page.getByText('No job fits').waitFor()
    await button('Start a job').click()
    await assertAxeClean(page, 'a new job')
    await page.getByRole('dialog').getByRole('button', { name: 'Start a job' }).click()
    await page.getByRole('heading', { level: 1, name: 'Job: my.workflow' }).waitFor()
    await page.getByRole('link', { name: 'Hall 3' }).waitFor()
  })

  test('another tenant, side by side, sees none of it', async () => {
    const made = millwright(['tenants', 'create', 'other'], { home: folder.path })
    const { stdout } = await made.ended
    const [, name = '', secret = ''] = /as (\S+) with the password (\S+)/.exec(stdout) ?? assert.fail(stdout)
    const { context, page: theirs } = await door.visit()
    await door.enter(theirs, { person: { name, password: secret }, path: '/discovery' })
    await theirs.getByText('No gateway yet').waitFor()
    await theirs.goto('/console/jobs')
    await theirs.getByText('No jobs yet').waitFor()
    await theirs.goto('/console/credentials')
    await theirs.getByText('No credentials yet').waitFor()
    await go('/discovery', 'Discovery')
    await page.getByText('Hall 3').first().waitFor()
    await context.close()
  })

  test('no page broke its own policy, threw, or asked anybody else for anything', () => {
    assert.deepEqual(door.offences, [])
  })
})
