import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { SignedReceipt } from '@millwright/api/receipt.ts'
import { verifyReceipt } from '@millwright/api/receipt-signature.ts'
import type { WorkflowJob } from '@millwright/api/workflows.ts'
import { enrolledGateway, linkReport, platformOver, signedReceipt } from '@millwright/cloud/platform/testing/gateway.ts'
import { gatewayVersion } from '@millwright/gateway/version.ts'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { runCommand } from './command.ts'
import { assertAxeClean, assertAxeCleanEverywhere, type ConsoleBrowser, consoleOf, follow } from './console.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { clickAsPerson } from './reachability.ts'
import { discover, type Gateway, killed, startGateway } from './shop-floor.ts'

/** Returns the traffic of a scan to this number of devices. */
function traffic(devices: number): Partial<SignedReceipt> {
  const [first, last] = ['2026-01-31T08:30:00.000Z', '2026-01-31T08:30:04.000Z']
  return {
    devices: Array.from({ length: devices }, (_, index) => ({
      address: `10.0.${index >> 8}.${index & 255}`,
      packets: { 'snmp Get': 1, 'snmp GetBulk': 2 },
      first,
      last,
    })),
    totals: { 'snmp Get': devices, 'snmp GetBulk': 2 * devices },
    refused: { excluded: 2 },
  }
}

/** The time limit for a scan. A scan takes longer on a busy machine. */
const scanTimeout = { timeout: 240_000 }
/** A secret that no page may display. */
const password = 'user_password'

describe('gateways, scans and credentials in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let page: Page
  let gateway: Gateway | undefined

  before(async () => {
    ;[platform, { browser }] = await Promise.all([
      startPlatform({ home: folder.path, environment: { MILLWRIGHT_PACKAGE_FOLDER: folder.path } }),
      openBrowser(),
    ])
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open({ acceptDownloads: true }))
    await consoleBrowser.signIn(page, { path: '/discovery' })
  })

  after(async () => {
    await browser?.close()
    await gateway?.program[Symbol.asyncDispose]()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })

  async function go(path: string, heading: string | RegExp): Promise<void> {
    await follow(page, path)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  }

  test('explains how to add the first gateway, and connects a gateway with the downloaded file', async () => {
    await page.getByText('No gateway yet').waitFor()
    await assertAxeClean(page, 'discovery without gateways')
    const caller = await callerOf(platform)
    await caller.authorization.createAccessGroup({ body: { data: { name: 'annex' } } })
    await button('Add gateway').first().click()
    await page.getByLabel('Name').fill('Hall 3')
    const group = await page.getByLabel('Access group').locator('option:checked').textContent()
    assert.equal(group, 'default', 'the group that the gateway gets without a choice')
    await button('Create').click()
    const [file] = await Promise.all([page.waitForEvent('download'), button('Download gateway-config.json').click()])
    await file.saveAs(join(folder.path, 'hall.json'))
    await page.getByText(/Valid for 29 min/).waitFor()
    await page.getByText('npm run package', { exact: true }).waitFor()
    await page.getByText('node cli/millwright.mjs gateway --config gateway-config.json', { exact: true }).waitFor()
    await page.getByText('Waiting for the gateway…').waitFor()
    await assertAxeClean(page, 'onboarding')
    gateway = await startGateway('hall', { home: folder.path, id: '' })
    await page.getByText('Gateway connected').waitFor(scanTimeout)
    await page.getByText('None yet. Start links on the page of the gateway.').waitFor()
    await page.getByRole('dialog').getByText(gatewayVersion, { exact: true }).waitFor()
    await assertAxeClean(page, 'a connected gateway')
    await button('Open gateway').click()
    await page.getByRole('heading', { level: 1, name: 'Hall 3' }).waitFor()
    await button('Assign role').click()
    await page
      .getByLabel('Role', { exact: true })
      .locator('option:checked[value=operator]')
      .waitFor({ state: 'attached' })
    await page.keyboard.press('Escape')
    const gatewayPage = page.url()
    await page.getByRole('link', { name: 'Show asset' }).click()
    await button('More').click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByText('Also revokes the gateway').waitFor()
    await page.goto(gatewayPage)
    await page.getByRole('heading', { level: 1, name: 'Hall 3' }).waitFor()
  })

  test('starts a built-in link, offers its scan options without a reload, and shows the result of a scan', async () => {
    await page.getByRole('switch', { name: 'Simulated plant' }).click()
    await page.getByRole('switch', { name: 'Simulated plant', checked: true }).waitFor(scanTimeout)
    await page.getByText('Latest log lines').first().click(scanTimeout)
    await page.getByText('The link Simulated plant listens').waitFor()
    await assertAxeClean(page, 'the built-in links of a gateway')
    await button('Scan').click(scanTimeout)
    await page.getByLabel('IP range').waitFor()
    await page.getByRole('dialog').getByText('Options', { exact: true }).click()
    await page.getByLabel('Devices in the whole plant').fill('40')
    await page.getByLabel('Protected devices (%)').fill('20')
    await assertAxeClean(page, 'the scan dialog')
    await button('Start').click()
    await page.getByText('Finished').first().waitFor(scanTimeout)
    await page.getByRole('tab', { name: /^New [1-9]/ }).waitFor()
    await page.getByRole('tab', { name: /^Errors [1-9]/ }).click()
    await page.getByText(/^Sign-in failed: [1-9]\d* devices?$/).waitFor()
    await assertAxeClean(page, 'a scan')
  })

  test('opens an error of a scan with the keyboard, and returns the focus to its row after Escape', async () => {
    await page.getByRole('heading', { level: 1, name: 'Scan of Simulated plant' }).waitFor()
    const rows = page.getByRole('grid', { name: 'Errors' }).getByRole('row')
    await rows.nth(1).focus()
    await page.keyboard.press('ArrowDown')
    // The focus moves in the next frame.
    await page.locator('[aria-rowindex="3"]:focus').waitFor()
    await page.keyboard.press('Enter')
    await page
      .getByRole('dialog')
      .getByText(/protected|credentials/i)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-rowindex')), '3')
  })

  test('changes the settings of a scan for future runs', async () => {
    await button('Edit').last().click()
    await page.getByLabel('Protected devices (%)').fill('25')
    await button('Save').click()
    await page.getByText('Protected devices (%)').locator('..').getByText('25').waitFor()
  })

  test('adds credentials from an error of a scan with the keyboard, tests them, and finds the protected devices', async () => {
    const { data: scans } = await (await callerOf(platform)).discovery.listDiscoveries({ query: {} })
    const scan = `/discovery/scans/${scans[0]?.jobId}`
    await go(scan, 'Scan of Simulated plant')
    await page.getByRole('tab', { name: /^Errors [1-9]/ }).click()
    const dialog = page.getByRole('dialog')
    const focused = (name: string) => dialog.getByLabel(name).and(page.locator(':focus')).waitFor()
    const step = (name: string) => dialog.locator('[aria-current=step]', { hasText: name }).waitFor()
    await page.getByRole('region', { name: 'Sign-in failed' }).getByRole('button', { name: 'Add credentials' }).focus()
    await page.keyboard.press('Enter')
    await step('Type')
    await dialog.getByRole('radio', { name: /^Simulated plant/, checked: true }).waitFor()
    await assertAxeClean(page, 'the type of new credentials')
    await page.keyboard.press('Enter')
    await step('Values')
    await focused('Name')
    await dialog.getByLabel('Name').fill('Reading')
    await dialog.getByLabel('User').fill('user')
    await dialog.getByLabel('Password').fill('wrong')
    await assertAxeClean(page, 'the values of new credentials')
    await page.keyboard.press('Enter')
    await step('Where they apply')
    await dialog.getByRole('radio', { name: /^Only \d+ devices$/, checked: true }).waitFor()
    await button('Save and continue').click()
    await step('Test')
    await button('Test now').click()
    await dialog.getByText(/rejects the credentials$/).waitFor(scanTimeout)
    await assertAxeClean(page, 'rejected credentials')

    await button('Change values').click()
    assert.equal(await dialog.getByLabel('Password').inputValue(), '***')
    await dialog.getByLabel('Password').fill(password)
    await button('Next').click()
    await dialog.getByText('Other addresses').click()
    await dialog.getByLabel('IP addresses').fill('0.0.0.0/0')
    await button('Save and continue').click()
    await button('Test now').click()
    await dialog.getByText(/accepts the credentials$/).waitFor(scanTimeout)
    assert.ok(!(await page.content()).includes(password), 'the secret is in the dialog')
    await button('Scan again').click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Errors 0' }).waitFor(scanTimeout)
    await page.getByText('Finished').first().waitFor(scanTimeout)
  })

  test('tests stored credentials from their page, and never displays their secret', async () => {
    await go('/credentials', 'Credentials')
    const row = page.getByRole('row', { name: 'Reading' })
    await row.getByText(/^Accepted by \d+ devices?$/).waitFor()
    await row.getByText(/^With the current password · /).waitFor()
    await page.getByRole('searchbox', { name: 'Search credentials' }).fill('203.0.113.9')
    await page.getByText(/^A scan of 203\.0\.113\.9 tries these credentials in this order, at most three\./).waitFor()
    await page.getByRole('columnheader', { name: 'Order' }).waitFor()
    await row.getByRole('gridcell', { name: '1', exact: true }).waitFor()
    await assertAxeClean(page, 'credentials of an IP address')
    await page.getByRole('gridcell', { name: 'Reading' }).click()
    await page.getByRole('heading', { level: 1, name: 'Reading' }).waitFor()
    await page.getByRole('heading', { name: 'Accepted by these devices' }).waitFor()
    await assertAxeClean(page, 'credentials page')
    await button('Test').click()
    await page.getByLabel('IP address of the device').fill('203.0.113.9')
    await page.keyboard.press('Enter')
    await page.getByText('203.0.113.9 did not respond').waitFor(scanTimeout)
    await button('Done').click()
    assert.ok(!(await page.content()).includes(password), 'the secret is on the page')
    await button('Edit').click()
    assert.equal(await page.getByLabel('Password').inputValue(), '***')
    await page.keyboard.press('Escape')
  })

  test('offers to add credentials on the page of a protected asset and of a job that could not read it', async () => {
    const caller = await callerOf(platform)
    const { data: stored } = await caller.credentials.listInstances({ query: { name: 'Reading' } })
    const instanceId = String(stored[0]?.id)
    const { data: usage } = await caller.credentials.readInstanceUsage({ params: { instanceId } })
    const { assetId, address } = usage.associations.find((use) => use.assetId !== undefined) ?? assert.fail()
    const applyTo = (...ipRanges: string[]) =>
      caller.credentials.updateInstance({ params: { instanceId }, body: { data: { metadata: { ipRanges } } } })
    await applyTo('198.51.100.0/24')
    await follow(page, `/assets/${assetId}?tab=device`)
    await page.getByText('The device requires credentials').waitFor(scanTimeout)
    await assertAxeClean(page, 'a protected asset')
    await button('Add credentials').click()
    await page.getByRole('dialog', { name: `Add credentials for ${address}` }).waitFor()
    await page.keyboard.press('Escape')
    const { data: jobs } = await caller.jobs.listJobs({ query: { type: 'device-info', limit: 1 } })
    await follow(page, `/jobs/${jobs[0]?.id}`)
    const facts = page.getByRole('region', { name: 'Status' })
    for (const name of ['State', 'Gateway', 'Started', 'Duration', 'Started by'])
      await facts.getByRole('term').filter({ hasText: name }).first().waitFor()
    await button('Add credentials').click()
    await page.getByRole('dialog').locator('[aria-current=step]', { hasText: 'Values' }).waitFor()
    await page.keyboard.press('Escape')
    await applyTo('0.0.0.0/0')
    await go('/credentials', 'Credentials')
    const row = page.getByRole('row', { name: 'Reading' })
    await row.getByText(/^Before the last change · /).waitFor()
  })

  test('shows the status of an asset, its live values with a trend, and the action that fits its state', async () => {
    const caller = await callerOf(platform)
    const filter = "startswith(name, 'PLC') and management_state/state_value eq 'unknown'"
    const { data } = await caller.inventory.listAssets({ query: { filter, limit: 1 } })
    const id = String(data[0]?.id)
    const primary = (name: string) =>
      until(`${name} is the primary action`, async () => {
        const names = await page
          .locator('.page-actions ix-button')
          .evaluateAll((all) =>
            all.flatMap((one) => ((one as { variant?: string }).variant === 'primary' ? [one.textContent] : [])),
          )
        return names.length === 1 && names[0] === name
      })
    await follow(page, `/assets/${id}`)
    const status = page.getByRole('region', { name: 'Status' })
    await status.getByText('Reachable', { exact: true }).waitFor()
    await status.getByText(/newest known|No firmware files for this product/i).waitFor()
    assert.equal(await status.getByRole('heading', { name: 'Duplicates' }).count(), 0)
    await primary('Onboard')
    await assertAxeClean(page, 'the status of an asset')
    await button('Onboard').click()
    await primary('Connect')

    await page.getByRole('tab', { name: 'Overview' }).focus()
    for (const tab of ['Relations', 'Impact', 'Identity', 'Live']) {
      await page.keyboard.press('ArrowRight')
      await page.getByRole('tab', { name: tab }).and(page.locator(':focus')).waitFor()
    }
    await page.keyboard.press('Enter')
    const measured = page.getByRole('region', { name: 'Measured values' })
    await measured.getByText('Temperature').waitFor(scanTimeout)
    await measured.getByText('°C').first().waitFor()
    await button('Read again').click()
    await measured
      .getByRole('img', { name: /^Trend: / })
      .first()
      .waitFor(scanTimeout)
    await button('Pause').click()
    await measured.getByText('Live reading is paused').waitFor()
    await assertAxeClean(page, 'the live values of an asset')

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('tab', { name: 'Identity' }).click()
    const identifiers = page.getByRole('region', { name: 'Identifiers' })
    const copied = await identifiers.locator('code').first().textContent()
    await identifiers
      .getByRole('button', { name: /^Copy: / })
      .first()
      .click()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), copied)
    await button('More').click()
    await page.getByRole('menuitem', { name: 'Scan again' }).click()
    await page.getByRole('heading', { level: 1, name: 'Scan of Simulated plant' }).waitFor(scanTimeout)
    await page.getByText('Finished').first().waitFor(scanTimeout)
  })

  test('shows which link reported each field of a found device', async () => {
    const caller = await callerOf(platform)
    const { data } = await caller.inventory.listAssets({ query: { filter: "startswith(name, 'PLC')", limit: 1 } })
    await follow(page, `/assets/${data[0]?.id}?tab=history`)
    await page.getByRole('radio', { name: 'Sources' }).check()
    await page
      .getByRole('grid', { name: 'Sources' })
      .getByRole('row', { name: /^Name PLC\S* Simulated plant / })
      .waitFor()
    await assertAxeClean(page, 'the sources of the fields of an asset')
  })

  test('schedules a scan, shows its next run, and pauses and resumes the schedule', async () => {
    await go('/discovery?scan=any', 'Discovery')
    await page.getByLabel('Schedule').selectOption('daily')
    await page.getByLabel('Time', { exact: true }).fill('04:30')
    await button('Schedule').click()
    await page.getByText(/^Daily at 04:30$/).waitFor()
    await page
      .getByText(/, 04:30$/)
      .first()
      .waitFor()
    await button('Pause').click()
    await page.getByText('Paused').waitFor()
    await button('Resume').click()
    await page.getByText('Paused').waitFor({ state: 'detached' })
    // The list leads to the schedule of the scan, and offers a schedule for the other scans.
    await go('/discovery', 'Discovery')
    const scheduled = page.getByRole('row').filter({ has: page.getByRole('link', { name: /^Change schedule: / }) })
    await scheduled.getByText('Daily', { exact: true }).waitFor()
    await page
      .getByRole('link', { name: /^Schedule scan: / })
      .first()
      .click()
    await page.getByRole('dialog', { name: 'Schedule' }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('starts a scan with an asset link of the list of gateways', async () => {
    await go('/discovery', 'Discovery')
    await button('Scan with Simulated plant').click()
    const dialog = page.getByRole('dialog', { name: 'Start scan' })
    await dialog
      .getByLabel('Asset link')
      .locator('option:checked', { hasText: 'Simulated plant' })
      .waitFor({ state: 'attached' })
    await page.keyboard.press('Escape')
  })

  test('lists the devices with errors on the page of a job, with the next step', async () => {
    await go('/jobs?type=discovery', 'Jobs')
    const row = page
      .getByRole('row')
      .filter({ hasText: /Sign-in failed: [1-9]/ })
      .last()
    await row.getByRole('link', { name: /^Scan: / }).click()
    await page.getByRole('heading', { level: 1, name: 'Scan of Simulated plant' }).waitFor()
    const errors = page.getByRole('region', { name: 'Sign-in failed' })
    await errors.getByText(/Add or change credentials/).waitFor()
    await errors.getByRole('gridcell').first().waitFor()
    await button('Add credentials').waitFor()
    await assertAxeCleanEverywhere(page, 'a job with errors')
  })

  test('shows the job, the workflow, the events and the audit entries of a scan', async () => {
    await go('/jobs?type=discovery', 'Jobs')
    const row = page.getByRole('row').nth(1)
    await row.getByRole('gridcell', { name: /Finished|error/ }).waitFor()
    await assertAxeCleanEverywhere(page, 'jobs')
    await row.getByRole('link', { name: /^Scan: / }).click()
    await page.getByRole('heading', { level: 1, name: 'Scan of Simulated plant' }).waitFor()
    await page.getByText('Technical details').click()
    await page.getByRole('img', { name: /Diagram of the workflow discovery/ }).waitFor()
    await assertAxeClean(page, 'a job')
    await go('/activity?kind=credentials&all=true', 'Activity')
    await page
      .getByRole('button', { name: /^Details/ })
      .first()
      .click()
    const details = page.getByRole('complementary', { name: 'Details' })
    await details.getByText('Raw data (JSON)').click()
    await details.getByText('principalName').waitFor()
    assert.ok(!(await page.content()).includes(password), 'the secret is in the activity')
    await details.getByRole('button', { name: 'Verify integrity' }).click()
    await details.getByText(/^All \d+ entries are unchanged$/).waitFor(scanTimeout)
  })

  test('protects built-in workflows, adds a custom workflow, and starts a job with it', async () => {
    await go('/workflows', 'Workflows')
    await page.getByText('Built-in').waitFor()
    assert.equal(await button('Delete').count(), 0)
    await button('Add workflow').click()
    await button('Save').click()
    await page.getByRole('heading', { level: 2, name: 'my.workflow' }).waitFor()
    await go('/jobs?type=my.workflow', 'Jobs')
    await page.getByText('No matching jobs').waitFor()
    await button('Start job').click()
    await assertAxeClean(page, 'a new job')
    await page.getByRole('dialog').getByRole('button', { name: 'Start job' }).click()
    await page.getByRole('heading', { level: 1, name: 'Job: my.workflow' }).waitFor()
    await page.getByRole('link', { name: 'Hall 3' }).waitFor()
  })

  test('shows no data of this tenant to a user of another tenant', async () => {
    const { stdout } = await runCommand(['tenants', 'create', 'other'], { home: folder.path })
    const [, name = '', secret = ''] = /as (\S+) with the password (\S+)/.exec(stdout) ?? assert.fail(stdout)
    const { context, page: otherPage } = await consoleBrowser.open()
    await consoleBrowser.signIn(otherPage, { user: { name, password: secret }, path: '/discovery' })
    await otherPage.getByText('No gateway yet').waitFor()
    await otherPage.goto('/console/jobs')
    await otherPage.getByText('No jobs yet').waitFor()
    await otherPage.goto('/console/credentials')
    await otherPage.getByText('No credentials yet').waitFor()
    await go('/discovery', 'Discovery')
    await page.getByText('Hall 3').first().waitFor()
    await context.close()
  })

  test('shows the receipt of a scan with its totals, devices and signature, and what to do after a failed scan', async () => {
    const caller = await callerOf(platform)
    const standIn = await enrolledGateway(platformOver(platform.baseUrl), caller, { name: 'Hall 9' })
    const links = [true, false].map((isBudgeted) =>
      linkReport({
        appInstanceId: isBudgeted ? 'snmp-1' : 'foreign-1',
        interfaces: [...linkReport().interfaces, ...(isBudgeted ? ['millwright.safety.permits.v1'] : [])],
      }),
    )
    await standIn.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links } } })
    type ScanOutcome = { state: 'FINISHED' | 'FAILED'; message?: string }
    type Receipt = (job: WorkflowJob) => SignedReceipt
    const scan = async (assetLinkId: string, receiptOf?: Receipt, outcome: ScanOutcome = { state: 'FINISHED' }) => {
      const input = { params: { gatewayId: standIn.id }, body: { data: { assetLinkId } } }
      const { jobId } = await caller.discovery.createDiscovery(input)
      const leased = await standIn.gatekeeper.leaseJob({ body: { data: { workflows: ['discovery'] } } })
      const { job, lease } = leased?.data ?? assert.fail('the gateway gets no job')
      if (receiptOf !== undefined) {
        const body = { data: { lease: lease.id, receipt: receiptOf(job) } }
        await standIn.gatekeeper.uploadReceipt({ params: { id: job.id }, body })
      }
      await standIn.gatekeeper.endJob({ params: { id: lease.id }, body: { data: { jobId: job.id, ...outcome } } })
      return jobId
    }

    const jobId = await scan('snmp-1', (job) => signedReceipt(standIn, job, traffic(300)))
    await go(`/discovery/scans/${jobId}`, 'Scan of Reference link')
    await page.getByText('Address range: all addresses that the asset link reaches').waitFor()
    const receipt = page.getByRole('region', { name: 'Receipt' })
    const openReceipt = () => receipt.getByText('Scan receipt (signed)').click()
    await openReceipt()
    await receipt.getByText('Valid', { exact: true }).waitFor(scanTimeout)
    const { keyThumbprint } = (await caller.onboarding.getGateway({ params: { id: standIn.id } })).data
    await receipt.getByText(keyThumbprint ?? '').waitFor()
    await receipt.getByText('20 datagrams, 20 connections and 20 requests per second; 2 open connections').waitFor()
    await receipt.getByText('2 (excluded address)').waitFor()
    await receipt.getByText('300 entries').waitFor()
    await receipt.getByLabel('Search address').fill('10.0.1.7')
    await receipt.getByText('1 of 300 entries').waitFor()
    await receipt.getByRole('row', { name: /^10\.0\.1\.7 3 snmp GetBulk 2, snmp Get 1 / }).waitFor()
    await assertAxeClean(page, 'the receipt of a scan')
    const [file] = await Promise.all([page.waitForEvent('download'), button('Download JSON').click()])
    const check = verifyReceipt(JSON.parse(await readFile(await file.path(), 'utf8')))
    assert.deepEqual(check, { isValid: true, thumbprint: keyThumbprint })

    await go('/discovery', 'Discovery')
    await page
      .getByRole('button', { name: /^Run again: Reference link/ })
      .first()
      .waitFor()
    await go(`/discovery/scans/${await scan('foreign-1')}`, 'Scan of Reference link')
    await openReceipt()
    await receipt.getByText(/^Not budgeted: this asset link/).waitFor(scanTimeout)
    await go('/discovery', 'Discovery')
    await go(`/discovery/scans/${await scan('snmp-1')}`, 'Scan of Reference link')
    await openReceipt()
    await receipt.getByText(/^No receipt: the run ended before/).waitFor(scanTimeout)
    await go(`/discovery/gateways/${standIn.id}`, 'Hall 9')
    await page.getByText('Within the budget of the gateway').waitFor()
    await page.getByText(/^Not budgeted: the gateway cannot limit/).waitFor()

    const message = 'The device 10.0.1.7 did not answer in time: timed out'
    await scan('snmp-1', undefined, { state: 'FAILED', message })
    await go('/jobs?phase=failed', 'Jobs')
    const failed = page.getByRole('row').filter({ hasText: message })
    await failed.getByRole('link', { name: /^Scan: Reference link/ }).waitFor()
    await clickAsPerson(failed.getByRole('gridcell', { name: message }))
    const advice = page.getByRole('region', { name: 'The job failed' })
    await advice.getByText(/Check that it is switched on/).waitFor()
    await assertAxeCleanEverywhere(page, 'a failed job')
    await advice.getByRole('link', { name: 'View scan' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Scan of Reference link' }).waitFor()
  })

  test('shows that a scan started again after its gateway was killed, and cancels it in the list of jobs', async () => {
    const caller = await callerOf(platform)
    const { data: gateways } = await caller.onboarding.listGateways({ query: {} })
    const gatewayId = gateways.find(({ name }) => name === 'Hall 3')?.id ?? assert.fail('no gateway')
    const scanId = await discover(caller, gatewayId, { size: '40', rate: '1' })
    await go('/jobs?type=discovery', 'Jobs')
    const row = page.getByRole('row').nth(1)
    await row.getByText(/^Running, \d+%$/).waitFor(scanTimeout)
    await row.getByText(/^\d+ found so far/).waitFor(scanTimeout)
    await killed(gateway?.program ?? assert.fail('no gateway runs'))
    gateway = await startGateway('hall', { home: folder.path, id: '' })
    await row.getByText(/Started again: /).waitFor(scanTimeout)
    await row.getByRole('link', { name: /^Scan: / }).click()
    await page.getByText(/^The scan was interrupted\. Started again: /).waitFor()
    await button('Cancel scan').waitFor()
    await go('/jobs?type=discovery', 'Jobs')
    await row.getByRole('button', { name: /^Cancel scan: / }).click()
    await row.getByText('Canceled', { exact: true }).waitFor(scanTimeout)
    const { data } = await caller.discovery.getDiscovery({ params: { jobId: scanId } })
    assert.equal(data.state, 'canceled')
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
