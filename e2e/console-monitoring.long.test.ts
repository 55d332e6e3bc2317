import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { users } from '@millwright/links/plant/device.ts'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { runCommand } from './command.ts'
import {
  assertAxeClean,
  assertAxeCleanEverywhere,
  type ConsoleBrowser,
  consoleOf,
  follow,
  narrow,
  navigationTo,
  wide,
} from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import type { Program } from './program.ts'
import { assertOverlayReachable, clickAsPerson } from './reachability.ts'
import { discover, type Gateway, killed, newGateway, over, startGateway, startPlant } from './shop-floor.ts'

const devices = 40
/** The schedule of the test, which does not run during the test: 29 February. */
const cron = '0 0 29 2 *'

describe('monitoring in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let page: Page
  let gateway: Gateway
  let plant: Program
  let monitoringId = ''
  let unreachable: { assetId: string; assetName?: string }

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    caller = await callerOf(platform)
    const id = await newGateway(caller, { home: folder.path, name: 'hall' })
    gateway = await startGateway('hall', { home: folder.path, id })
    plant = startPlant(gateway, { home: folder.path })
    await scan()
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open())
    await consoleBrowser.signIn(page)
  })

  after(async () => {
    await browser?.close()
    await plant?.[Symbol.asyncDispose]()
    await gateway?.program[Symbol.asyncDispose]()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  /** Scans the plant. Its devices then behave as the options of the scan say, also when they are checked. */
  async function scan(options: Record<string, string> = {}): Promise<void> {
    await over(caller, await discover(caller, gateway.id, { size: String(devices), ...options }), 120_000)
  }

  /** Creates a monitoring set with the credentials of the plant. */
  async function createMonitoringSet(): Promise<void> {
    const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    const assetId = links[0]?.assetId ?? assert.fail('the gateway has no link')
    const { data: schema } = await caller.credentials.createSchemaFromLink({ body: { data: { assetId } } })
    const values = { username: 'user', password: users.user }
    const metadata = { ipRanges: ['10.0.0.0/8'] }
    const { data: instance } = await caller.credentials.createInstance({
      body: { data: { schemaId: schema.id, name: 'Plant user', values, metadata } },
    })
    const { data: set } = await caller.credentials.createInstancesTemplate({
      body: { data: { name: 'Plant passwords' } },
    })
    const params = { instancesTemplateId: set.id, instanceId: instance.id }
    await caller.credentials.mapInstance({ params })
  }

  const button = (name: string) => page.getByRole('button', { name, exact: true }).first()
  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const section = (name: string) => page.getByRole('region', { name, exact: true })
  const row = (part: string, text: string) => section(part).getByRole('row').filter({ hasText: text }).first()
  const openMonitoring = () => follow(page, `/monitoring/${monitoringId}`)
  const monitoring = async () => (await caller.monitoring.readMonitoring({ params: { id: monitoringId } })).data

  async function assertDialogUsable(where: string): Promise<void> {
    for (const viewport of [narrow, wide]) {
      await page.setViewportSize(viewport)
      await assertOverlayReachable(page, `${where}, ${viewport.width} pixels`)
    }
    await assertAxeCleanEverywhere(page, where)
  }

  /** Starts a run with the button of the page, and waits for its end. */
  async function runNow(): Promise<void> {
    const { runs } = await monitoring()
    await clickAsPerson(button('Run now'))
    await until('the run has ended', async () => {
      const { latestRun } = await monitoring()
      return latestRun !== undefined && latestRun.number > runs && latestRun.endedTimestamp !== undefined
    })
    await button('Run now').waitFor()
  }

  test('explains monitoring when there is none, and shows an asset without monitoring', async () => {
    await clickAsPerson(navigationTo(page, 'Monitoring'))
    await page.getByText('No monitoring tasks yet').waitFor()
    await page.getByText(`${devices} of ${devices} assets can be checked now`).waitFor()
    await clickAsPerson(button(`Check these ${devices} every 5 minutes`))
    assert.equal(await dialog().getByLabel('Name', { exact: false }).first().inputValue(), 'All devices')
    await clickAsPerson(inDialog('Cancel'))
    await dialog().waitFor({ state: 'detached' })
    await assertAxeCleanEverywhere(page, 'monitoring, empty')
    const { data } = await caller.inventory.listAssets({ query: { filter: "functional_object_type eq 'Device'" } })
    await follow(page, `/assets/${data[0]?.id}`)
    await page.getByText('Not monitored yet').waitFor()
    await follow(page, '/monitoring')
  })

  test('names missing fields, and shows how many assets match the filter', async () => {
    await clickAsPerson(button('Create monitoring task'))
    await dialog().getByText(`${devices} assets match. ${devices} can be checked now.`).waitFor()
    await dialog().getByText(`About 3 checks per minute for ${devices} devices.`).waitFor()
    assert.ok(await inDialog('Create').isVisible(), 'the buttons are visible without scrolling')
    await clickAsPerson(inDialog('Edit as text'))
    await dialog().getByLabel('Filter expression').fill('name eq')
    await dialog().getByText('invalid_filter').waitFor()
    await dialog().getByLabel('Filter expression').fill('')
    await dialog().getByLabel('Asset links').selectOption('Chosen asset links')
    await clickAsPerson(inDialog('Create'))
    await dialog().getByText('Required', { exact: true }).waitFor()
    await dialog().getByText('Enter a filter').waitFor()
    await dialog().getByText('Select at least one asset link').waitFor()
    await assertDialogUsable('new monitoring')
  })

  test('creates a monitoring with a schedule, a link, a monitoring set and a property', async () => {
    await createMonitoringSet()
    await dialog().getByLabel('Name', { exact: false }).first().fill('Line 1')
    await dialog().getByLabel('Filter expression').fill("functional_object_type eq 'Device'")
    await clickAsPerson(dialog().getByRole('checkbox', { name: 'Simulated plant' }))
    await dialog().getByLabel('Monitoring set').selectOption('Plant passwords')
    await clickAsPerson(dialog().getByRole('checkbox', { name: 'Assign working credentials' }))
    await dialog().getByLabel('Additional properties').fill('operating_mode')
    await dialog().getByLabel('Schedule', { exact: true }).selectOption('Custom (cron)')
    await dialog().getByLabel('Cron expression').fill(cron)
    await clickAsPerson(inDialog('Create'))
    await heading('Line 1')
    const { data } = await caller.monitoring.listMonitorings({ query: {} })
    const { id, assetLinkIds, assignWorking, keys, schedule, owner } = data[0] ?? assert.fail('there is no monitoring')
    monitoringId = id
    assert.deepEqual(
      [assetLinkIds, assignWorking, keys, schedule?.cron, owner.name],
      [['millwright.links.plant'], true, ['operating_mode'], cron, platform.access.adminUser],
    )
    await page.getByText('No runs yet').first().waitFor()
    await page.getByText('No results yet').waitFor()
    await page.getByText('Plant passwords').waitFor()
    await assertAxeCleanEverywhere(page, 'monitoring without runs')
  })

  test('runs a monitoring now, and shows its results and its run without a reload', async () => {
    await runNow()
    await section('Last results').getByText(`Reachable ${devices}`, { exact: true }).waitFor()
    await row('Last results', 'Reachable')
      .getByText(/^operating_mode: /)
      .waitFor()
    await row('Runs', 'Finished').getByText(String(devices), { exact: true }).first().waitFor()
    await assertAxeCleanEverywhere(page, 'monitoring with results')
    await clickAsPerson(page.getByRole('link', { name: 'Job', exact: true }))
    await clickAsPerson(page.getByRole('link', { name: 'Line 1', exact: true }))
    await heading('Line 1')
  })

  test('lists unreachable devices first, with the reason, and counts them in the list of monitorings', async () => {
    await scan({ silent_percent: '30' })
    await runNow()
    const query = { state: 'failed', limit: 100 } as const
    const { data } = await caller.monitoring.listMonitoringResults({ params: { id: monitoringId }, query })
    unreachable = data[0] ?? assert.fail('no device is unreachable')
    await section('Last results').getByText(`Unreachable ${data.length}`, { exact: true }).waitFor()
    const first = section('Last results').getByRole('row').nth(1)
    await first.getByText('Unreachable', { exact: true }).waitFor()
    await first.getByText(/does not respond/).waitFor()
    await clickAsPerson(section('Last results').getByText(`Unreachable ${data.length}`, { exact: true }))
    await until('the list has only unreachable devices', async () => {
      const shown = await section('Last results').getByRole('row').count()
      return shown === data.length + 1
    })
    await assertAxeCleanEverywhere(page, 'unreachable devices')
    await follow(page, '/monitoring')
    await page.getByText(/^(Since|Longest since) \d/).waitFor()
    const tasks = page.getByRole('grid', { name: 'Monitoring', exact: true })
    const listed = tasks.getByRole('row').filter({ hasText: 'Line 1' })
    await listed.getByText(String(data.length), { exact: true }).first().waitFor()
    const outage = section('Unreachable devices').getByRole('row').nth(1)
    await outage.getByRole('link', { name: 'Line 1' }).waitFor()
    await assertAxeCleanEverywhere(page, 'list of monitorings')
    const { data: changed } = await caller.monitoring.listMonitoringResults({
      params: { id: monitoringId },
      query: { changed: true, limit: 100 },
    })
    await clickAsPerson(listed.getByRole('link', { name: String(changed.length), exact: true }).last())
    await heading('Line 1')
    await until('the list has only changed devices', async () => {
      const shown = await section('Last results').getByRole('row').count()
      return shown === changed.length + 1
    })
  })

  test('shows the availability of an unreachable device with a text alternative, and its outage', async () => {
    await follow(page, `/assets/${unreachable.assetId}`)
    const chart = page.getByRole('img', { name: /^Availability in the last 30 days: \d.*%\. 1 outage\.$/ })
    await chart.waitFor()
    assert.equal(await chart.locator('rect').count(), 30)
    await page
      .getByRole('listitem')
      .filter({ hasText: /^Since \d/ })
      .waitFor()
    await page.getByRole('link', { name: 'Line 1' }).waitFor()
    await assertAxeCleanEverywhere(page, 'availability')
    await follow(page, `/assets/${unreachable.assetId}?at=${new Date().toISOString()}`)
    await page.getByRole('heading', { name: 'Nameplate' }).waitFor()
    assert.equal(await chart.count(), 0)
  })

  test('shows the credentials with which protected devices were read, and assigns them to the assets', async () => {
    await scan({ protected_percent: '100' })
    await openMonitoring()
    await runNow()
    await clickAsPerson(section('Last results').getByText(`Reachable ${devices}`, { exact: true }))
    await row('Last results', 'Reachable').getByRole('link', { name: 'Plant user' }).waitFor()
    await follow(page, `/assets/${unreachable.assetId}?tab=credentials`)
    await page.getByRole('row').filter({ hasText: 'Plant user' }).getByText('Assigned').waitFor()
    await scan({ silent_percent: '30' })
  })

  test('pauses and resumes the schedule', async () => {
    await openMonitoring()
    await clickAsPerson(button('Pause'))
    await button('Resume').waitFor()
    assert.equal((await monitoring()).schedule?.paused, true)
    await clickAsPerson(button('Resume'))
    await button('Pause').waitFor()
    assert.equal((await monitoring()).schedule?.paused, false)
  })

  test('edits a monitoring, and does not overwrite a concurrent change', async () => {
    await clickAsPerson(button('Edit'))
    await dialog().getByText('Edit Line 1').waitFor()
    assert.equal(await dialog().getByText('makes you the owner').count(), 0)
    await dialog().getByLabel('Additional properties').fill('')
    const change = { params: { id: monitoringId }, headers: {} }
    await caller.monitoring.updateMonitoring({ ...change, body: { data: { keys: ['location'] } } })
    await clickAsPerson(inDialog('Save'))
    await dialog().getByText('precondition_failed').waitFor()
    await clickAsPerson(inDialog('Load current settings'))
    await until(
      'the form shows the current properties',
      async () => (await dialog().getByLabel('Additional properties').inputValue()) === 'location',
    )
    await dialog().getByLabel('Additional properties').fill('')
    await dialog().getByText('This change makes you the owner').waitFor()
    await assertDialogUsable('edit a monitoring')
    await clickAsPerson(inDialog('Save'))
    await dialog().waitFor({ state: 'detached' })
    const { keys, owner } = await monitoring()
    assert.deepEqual([keys, owner.name], [[], platform.access.adminUser])
  })

  test('the command line runs the same monitoring, prints the unreachable devices and exits with 1', async () => {
    const home = folder.path
    const run = await runCommand(['monitor', 'run', 'Line 1'], { home })
    const { summary } = await monitoring()
    assert.equal(run.code, 1, run.stderr)
    assert.match(run.stdout, new RegExp(`^Line 1: ${summary.failed} unreachable, ${summary.reached} reachable`))
    assert.match(run.stdout, new RegExp(`^${unreachable.assetName} +unreachable .* does not respond`, 'm'))
    assert.match(run.stderr, /Next: millwright monitor results "Line 1" --state unreachable/)
    const asset = await runCommand(['monitor', 'availability', unreachable.assetId], { home })
    assert.equal(asset.code, 0, asset.stderr)
    assert.match(
      asset.stdout,
      /^unreachable since 20\S+Z\n[\d.]+ % available in the last 30 days\nUNREACHABLE FROM .*\n20\S+Z +20\S+Z +\d+\n20\S+Z +now /,
    )
    const filter = "name eq '[unknown]'"
    const once = await runCommand(['monitor', 'create', 'Once', '--filter', filter], { home })
    assert.deepEqual([once.code, once.stdout], [0, 'Once: 0 unreachable, 0 reachable, 0 changed\n'], once.stderr)
    const { data } = await caller.monitoring.listMonitorings({ query: {} })
    await follow(page, '/monitoring')
    await follow(page, `/monitoring/${data.find(({ name }) => name === 'Once')?.id}`)
    await page.getByText('No devices checked').waitFor()
    await follow(page, '/monitoring')
    const deleted = await runCommand(['monitor', 'delete', 'Once', '--yes'], { home })
    assert.equal(deleted.code, 0, deleted.stderr)
  })

  test('shows monitorings without actions to a user who can only read', async () => {
    const viewer = { name: 'viewer', password: 'a long enough passphrase for valves' }
    const { data: user } = await caller.identity.createUser({ body: { data: viewer } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'viewer' } } })
    const { context, page: viewerPage } = await consoleBrowser.open()
    await consoleBrowser.signIn(viewerPage, { user: viewer, path: `/monitoring/${monitoringId}` })
    await viewerPage.getByRole('heading', { level: 1, name: 'Line 1' }).waitFor()
    await viewerPage
      .getByRole('region', { name: 'Last results' })
      .getByText('Unreachable', { exact: true })
      .first()
      .waitFor()
    for (const name of ['Run now', 'Edit', 'Pause', 'Delete'])
      assert.equal(await viewerPage.getByRole('button', { name, exact: true }).count(), 0, name)
    await context.close()
  })

  test('offers a task for exactly the devices that no task checks yet', async () => {
    const filter = "functional_object_type eq 'Device'"
    await scan({ size: String(2 * devices) })
    const body = { data: { targets: { filter } } }
    const { data: rest } = await caller.monitoring.listUnmonitoredTargets({ body })
    assert.ok(rest.total > 1)
    await follow(page, '/monitoring')
    await clickAsPerson(button(`Monitor the other ${rest.total} devices…`))
    await dialog().getByLabel('Selection').getByText(`${rest.total} selected assets`).waitFor({ state: 'attached' })
    await assertAxeClean(page, 'a task for the other devices')
    await clickAsPerson(inDialog('Create'))
    await heading('Other devices')
    const { data } = await caller.monitoring.listMonitorings({ query: {} })
    const other = data.find(({ name }) => name === 'Other devices') ?? assert.fail('there is no task')
    assert.deepEqual('assetIds' in other.targets && other.targets.assetIds.toSorted(), rest.assetIds.toSorted())
    await follow(page, '/monitoring')
    await caller.monitoring.deleteMonitoring({ params: { id: other.id } })
  })

  test('shows a run that waits for its gateway, and cancels it', async () => {
    await killed(gateway.program)
    await openMonitoring()
    await clickAsPerson(button('Run now'))
    await button('Cancel run').waitFor()
    await row('Runs', 'Running').waitFor()
    await assertAxeClean(page, 'monitoring with a run')
    await follow(page, '/monitoring')
    await page.getByRole('row').filter({ hasText: 'Line 1' }).getByText('Running').waitFor()
    await openMonitoring()
    await clickAsPerson(button('Cancel run'))
    await row('Runs', 'Canceled').waitFor()
    await button('Run now').waitFor()
    assert.equal((await monitoring()).latestRun?.state, 'canceled')
  })

  test('shows monitoring in German, also in a narrow window, and deletes a monitoring', async () => {
    await clickAsPerson(page.getByTitle('Account menu'))
    await clickAsPerson(page.getByRole('menuitemradio', { name: 'Deutsch' }))
    await page.getByRole('heading', { name: 'Letzte Ergebnisse' }).waitFor()
    await page.setViewportSize(narrow)
    await assertAxeClean(page, 'monitoring, German, narrow')
    await clickAsPerson(button('Löschen'))
    await dialog().getByText('Line 1 löschen?').waitFor()
    await assertOverlayReachable(page, 'delete a monitoring, German, narrow')
    await assertAxeClean(page, 'delete a monitoring, German, narrow')
    await clickAsPerson(inDialog('Löschen'))
    await page.getByText('Noch keine Überwachung').waitFor()
    await page.setViewportSize(wide)
    assert.deepEqual((await caller.monitoring.listMonitorings({ query: {} })).data, [])
  })

  test('the pages caused no errors, no requests to other hosts, and no unreachable controls', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
