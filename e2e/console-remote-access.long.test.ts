import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { RemotePolicy } from '@millwright/api/remote-access.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { passwordOnly, TestSshDevice } from '@millwright/gateway/remote-access/ssh-testing.ts'
import type { Browser, Page, WebSocketRoute } from 'playwright-core'
import { openBrowser } from './browser.ts'
import {
  assertAxeClean,
  assertAxeCleanEverywhere,
  type ConsoleBrowser,
  consoleOf,
  follow,
  narrow,
  navigationTo,
  untilDisabled,
  wide,
} from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { assertOverlayReachable, clickAsPerson } from './reachability.ts'
import { connectDevice, deviceName } from './remote-device.ts'
import type { Gateway } from './shop-floor.ts'

/** The password of the user on the device, and of the reviewer. No page may show it. */
const password = `the ${plantedWord} of a user`
/** Starts a device whose shell repeats each line. The line `exit` ends the shell. */
function startDevice(folder: string): Promise<TestSshDevice> {
  return TestSshDevice.start({
    folder,
    authenticate: passwordOnly('plc', password),
    shell(channel, { columns, rows }) {
      channel.write(`Welcome, ${columns} columns, ${rows > 0} \x1b[38;2;200;80;0mcolour\x1b[0m\r\n$ `)
      let line = ''
      channel.on('data', (bytes: Buffer) => {
        channel.write(bytes)
        line += bytes
        if (!line.endsWith('\r')) return
        channel.write(`\nanswer to ${line.trim()}\r\n$ `)
        if (line.trim() === 'exit') channel.exit(3)
        if (line.trim() === 'exit') channel.end()
        line = ''
      })
    },
  })
}

async function startWebPage(): Promise<Server> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>Device</title><h1>Page of the device</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

describe('remote access in the console', () => {
  const folder = temporaryFolder()
  const files = join(folder.path, 'device')
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let gateway: Gateway | undefined
  let device: TestSshDevice | undefined
  let webPage: Server | undefined
  let page: Page
  let assetId = ''
  let groupId = ''
  let policy: RemotePolicy

  before(async () => {
    mkdirSync(files)
    writeFileSync(join(files, 'fault.log'), 'overtemperature\n')
    ;[platform, { browser }, device, webPage] = await Promise.all([
      startPlatform({ home: folder.path }),
      openBrowser(),
      startDevice(files),
      startWebPage(),
    ])
    caller = await callerOf(platform)
    const ports = [device.port, (webPage.address() as AddressInfo).port]
    policy = { approval: 'none', recording: 'all', maxMinutes: 120, idleMinutes: 15, ports }
    ;({ gateway, assetId, groupId } = await connectDevice(caller, { home: folder.path, name: 'hall', ports }))
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open({ acceptDownloads: true }))
    await consoleBrowser.signIn(page, { path: '/remote' })
  })

  after(async () => {
    await browser?.close()
    await gateway?.program[Symbol.asyncDispose]()
    await platform?.[Symbol.asyncDispose]()
    await device?.[Symbol.asyncDispose]()
    webPage?.close()
    folder[Symbol.dispose]()
  })

  const button = (name: string | RegExp, on = page) =>
    on.getByRole('button', { name, exact: typeof name === 'string' }).first()
  const dialog = (on = page) => on.getByRole('dialog')
  const inDialog = (name: string, on = page) => dialog(on).getByRole('button', { name, exact: true })
  const heading = (name: string, on = page) => on.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const screen = () => page.locator('.xterm-rows')
  const setPolicy = (changed: Partial<RemotePolicy>) =>
    caller['remote-access'].putPolicy({
      params: { accessGroup: groupId },
      body: { data: { ...policy, ...changed } },
    })

  async function openDialog(): Promise<void> {
    await follow(page, `/assets/${assetId}`)
    await heading(deviceName)
    await clickAsPerson(button('Connect'))
  }

  async function signInToDevice(): Promise<void> {
    await page.getByLabel('User name').fill('plc')
    await page.keyboard.press('Enter')
    await page.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
    await page.getByText('Signed in as plc').waitFor()
  }

  test('explains remote access without sessions, and offers no connection to an asset without a gateway', async () => {
    await page.getByText('No sessions yet').waitFor()
    await page.getByRole('heading', { level: 2, name: 'Sessions', exact: true }).waitFor()
    await assertAxeClean(page, 'list without sessions')
    await follow(page, `/assets/${gateway?.id}`)
    await clickAsPerson(button('Connect'))
    await dialog().getByText('The asset is a gateway or an asset link of the platform.').waitFor()
    await page.keyboard.press('Escape')
    const asset = {
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name: 'Elsewhere',
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '00:1b:1b:00:00:99' }],
    }
    await caller.inventory.createAssets({ headers: { prefer: 'wait=30' }, body: { data: { assets: [asset] } } })
    const { data } = await caller.inventory.listAssets({ query: { q: 'Elsewhere' } })
    await follow(page, `/assets/${data[0]?.id}`)
    await heading('Elsewhere')
    // Only a scan can find the gateway of this device, so the page offers no connection.
    await button('Connect').waitFor({ state: 'detached' })
    await assertAxeClean(page, 'asset without a gateway')
  })

  test('lists the devices that a gateway has found, and connects with the mouse and the keyboard', async () => {
    await follow(page, '/remote')
    const search = page.getByRole('searchbox', { name: 'Search devices' })
    const row = page.getByRole('grid', { name: 'Devices with a gateway' }).getByRole('row').nth(1)
    await page
      .getByText('Through hall (ready). Allowed services: SSH, HTTP, HTTPS. No approval needed (Policies).')
      .waitFor()
    await page.getByText(/^1 of \d+ assets have a gateway and an IP address$/).waitFor()
    await row.getByText(/^Reachable \d+ (sec|min) ago$/).waitFor()
    await row.getByText(/^(Not assigned|New, in the inbox)$/).waitFor()
    assert.equal(await page.getByRole('columnheader', { name: 'Gateway' }).count(), 0)
    await assertAxeCleanEverywhere(page, 'devices')
    await search.fill('Elsewhere')
    await page.getByText('No matching devices.').waitFor()
    await search.fill(deviceName)
    await row.getByText('Connect…').waitFor()
    await clickAsPerson(row.getByRole('button', { name: `Connect: ${deviceName}` }))
    await page.getByRole('dialog', { name: `Connect to ${deviceName}` }).waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await row.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: `Connect to ${deviceName}` }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('refuses a port that the policy does not allow, until an administrator changes the policy', async () => {
    await openDialog()
    await dialog().getByLabel('Port').fill(String(device?.port))
    await dialog().getByText(`does not allow port ${device?.port}.`).waitFor()
    await untilDisabled(inDialog('Open'))
    await page.keyboard.press('Escape')
    await follow(page, '/remote?view=policies')
    await page.getByRole('gridcell', { name: 'default', exact: true }).click()
    await dialog().getByLabel('Recording').selectOption({ label: 'Terminals and web requests' })
    await dialog().getByLabel('Idle time in minutes').fill('0')
    await inDialog('Save').click()
    await dialog().getByText('Enter a whole number from 1 to 480.').waitFor()
    await dialog().getByLabel('Idle time in minutes').fill('15')
    await dialog().getByLabel('Allowed ports').fill(policy.ports.join(' '))
    await assertAxeClean(page, 'policy dialog')
    await inDialog('Save').click()
    await page.getByRole('gridcell', { name: policy.ports.join(', ') }).waitFor()
    const { data } = await caller['remote-access'].readPolicy({ params: { accessGroup: groupId } })
    assert.deepEqual(data, policy)
    await assertAxeCleanEverywhere(page, 'policies')
  })

  test('opens a terminal: host key, sign-in as a form, output, colours and size', async () => {
    await openDialog()
    await dialog().getByLabel('Service').selectOption({ label: 'TCP port, for programs on your computer' })
    await dialog().getByText(`millwright connect ${assetId}`).waitFor()
    await dialog().getByLabel('Service').selectOption({ label: 'Terminal (SSH)' })
    await dialog().getByLabel('Port').fill(String(device?.port))
    await dialog().getByLabel('Reason').fill('Read the log after the fault')
    for (const viewport of [narrow, wide]) {
      await page.setViewportSize(viewport)
      await assertOverlayReachable(page, `connect dialog, ${viewport.width} pixels`)
    }
    await assertAxeClean(page, 'connect dialog')
    await inDialog('Open').click()
    await heading(`Terminal: ${deviceName}`)
    await page.getByText('New host key').waitFor()
    await page.getByText(/^ssh-ed25519 SHA256:/).waitFor()
    await page.getByLabel('User name').waitFor()
    await assertAxeCleanEverywhere(page, 'sign-in to the device')
    await signInToDevice()
    await screen().getByText('Welcome').waitFor()
    await page.keyboard.type('uptime')
    await page.keyboard.press('Enter')
    await screen().getByText('answer to uptime').waitFor()
    const colour = await screen()
      .getByText('colour', { exact: true })
      .evaluate((span) => getComputedStyle(span).color)
    assert.notEqual(colour, await screen().evaluate((rows) => getComputedStyle(rows).color))
    await page.setViewportSize(narrow)
    await until('the device knows the new width', () => (device?.sizes.at(-1)?.columns ?? 100) < 60)
    await page.setViewportSize(wide)
    await assertAxeCleanEverywhere(page, 'terminal')
    assert.ok(!(await page.content()).includes(password), 'the password is on the page')
    await page.keyboard.press('Shift+F6')
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Files')
  })

  test('lists, downloads and uploads files of the device', async () => {
    await clickAsPerson(button('Files'))
    await page.getByText('fault.log', { exact: true }).waitFor()
    const [file] = await Promise.all([page.waitForEvent('download'), button('Download fault.log').click()])
    assert.equal(readFileSync(await file.path(), 'utf8'), 'overtemperature\n')
    const dataTransfer = await page.evaluateHandle(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File(['x'.repeat(3_000_000)], 'firmware.bin'))
      return transfer
    })
    await page.locator('.files-folder').dispatchEvent('drop', { dataTransfer })
    await page.getByText('Upload of firmware.bin: Done').waitFor()
    assert.equal(readFileSync(join(files, 'firmware.bin'), 'utf8'), 'x'.repeat(3_000_000))
    await page.getByText('firmware.bin', { exact: true }).waitFor()
    await page.locator('.files-folder').dispatchEvent('drop', { dataTransfer })
    await dialog()
      .getByText('These files already exist on the device. The upload replaces them: firmware.bin')
      .waitFor()
    await page.keyboard.press('Escape')
    await assertAxeCleanEverywhere(page, 'terminal with files')
    await clickAsPerson(button('Files'))
  })

  test('opens a new shell after the shell has ended, extends the session, and ends it', async () => {
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('exit')
    await page.keyboard.press('Enter')
    await page.getByText('The shell of the device has ended. Exit code: 3').waitFor()
    await button('Open new shell').click()
    await page.getByText('Signed in as plc').waitFor()
    await screen().getByText('This is a new shell.').waitFor()
    await page.getByText(/^Time left: (59|1:00)/).waitFor()
    await clickAsPerson(button('Extend'))
    await inDialog('Extend').click()
    await page.getByText(/^Time left: 1:2/).waitFor()
    await dialog().waitFor({ state: 'detached' })
    await clickAsPerson(button('End session'))
    await inDialog('End session').click()
    await page.getByText('The session has ended. Ended by its user.').waitFor()
  })

  test('plays the recording back, and links to the job and the audit trail', async () => {
    await page.getByRole('link', { name: 'Go to session' }).click()
    await heading(`Session: ${deviceName}`)
    await clickAsPerson(button('Load recording'))
    await page.getByRole('slider', { name: 'Position' }).fill('100000')
    await screen().getByText('answer to uptime').first().waitFor()
    await page.getByRole('slider', { name: 'Position' }).fill('0')
    await screen().getByText('answer to uptime').first().waitFor({ state: 'detached' })
    await page.getByLabel('Speed').selectOption('8')
    await clickAsPerson(button('Play'))
    await screen().getByText('answer to uptime').first().waitFor()
    const [file] = await Promise.all([page.waitForEvent('download'), button('Download').click()])
    const recording = readFileSync(await file.path(), 'utf8')
    assert.match(recording, /^\{"version":\s*2/)
    assert.ok(!recording.includes(password), 'the password is in the recording')
    await page.getByRole('row').filter({ hasText: 'ssh-ed25519' }).waitFor()
    await assertAxeCleanEverywhere(page, 'ended session')
    await page.getByRole('link', { name: 'View audit entries' }).click()
    await page.locator('.activity-row').filter({ hasText: 'session' }).first().waitFor()
    await page.goBack()
    await page.getByRole('link', { name: 'View job' }).click()
    await page.getByRole('link', { name: 'View session' }).click()
    await heading(`Session: ${deviceName}`)
  })

  test('opens the web page of the device in a new tab, and lists its requests', async () => {
    await openDialog()
    await dialog().getByLabel('Service').selectOption({ label: 'Web page (HTTP)' })
    await dialog().getByLabel('Port').fill(String(policy.ports[1]))
    await inDialog('Open').click()
    const [tab] = await Promise.all([page.context().waitForEvent('page'), inDialog('Open web page').click()])
    await tab.getByRole('heading', { name: 'Page of the device' }).waitFor()
    assert.match(new URL(tab.url()).hostname, /^[0-9a-f-]{36}\.localhost$/)
    assert.equal(await tab.evaluate(() => opener), null)
    await tab.close()
    await dialog().getByRole('link', { name: 'Go to session' }).click()
    await heading(`Session: ${deviceName}`)
    await clickAsPerson(button('End session'))
    await inDialog('End session').click()
    await clickAsPerson(button('Load web requests'))
    await page.getByRole('row').filter({ hasText: 'GET' }).first().waitFor()
    await assertAxeClean(page, 'web requests')
  })

  test('waits for the approval of another person, and connects again after a restart of the platform', async () => {
    await setPolicy({ approval: 'required' })
    await follow(page, '/remote')
    await page.getByText('Another person must approve each session (Policies).').waitFor()
    await page.getByRole('button', { name: `Request approval: ${deviceName}` }).waitFor()
    const reviewer = { name: 'reviewer', password }
    const { data: user } = await caller.identity.createUser({ body: { data: reviewer } })
    await caller.authorization.createGrant({
      body: { data: { principal: user.id, role: 'supervisor' } },
    })
    const { page: other, context } = await consoleBrowser.open()
    await consoleBrowser.signIn(other, { user: reviewer, path: '/inbox?list=approvals' })
    await other.getByText('No requests').waitFor()
    await request('Replace the battery')
    await other.getByRole('tab', { name: 'Access requests 1' }).waitFor()
    await other.getByText('Replace the battery').waitFor()
    await assertAxeClean(other, 'requests in the inbox')
    await button('Deny', other).click()
    await dialog(other).getByLabel('Reason for the requester').fill('Production is running')
    await inDialog('Deny', other).click()
    await dialog().getByText('Session ended: Request denied').waitFor()
    await dialog().getByText('Production is running').waitFor()
    await page.keyboard.press('Escape')
    await request('Replace the battery tonight')
    await other.getByText('Replace the battery tonight').waitFor()
    await button('Approve', other).click()
    await other.getByText('No requests').waitFor()
    await context.close()
    // The page routes its WebSockets through the test, which then ends one of them.
    const sockets: Record<'socket' | 'server', WebSocketRoute>[] = []
    await page.routeWebSocket(/\/stream\?/, (socket) => {
      sockets.push({ socket, server: socket.connectToServer() })
    })
    await inDialog('Open terminal').click()
    await page.getByText('Known host key').waitFor()
    await signInToDevice()
    await sockets[0]?.server.close()
    await sockets[0]?.socket.close({ code: 1012, reason: 'The server restarts' })
    await until('the terminal connects again', () => sockets.length === 2)
    await page.getByText('Signed in as plc').waitFor()
    await screen().getByText('This is a new shell.').waitFor()
  })

  async function request(reason: string): Promise<void> {
    await openDialog()
    await dialog().getByLabel('Port').fill(String(device?.port))
    await dialog().getByLabel('Reason').fill(reason)
    await inDialog('Request approval').click()
    await dialog().getByText('Waiting for approval by another person.').waitFor()
  }

  test('switches remote access off after a confirmation with the number of sessions that end', async () => {
    await follow(page, '/remote')
    await page.getByRole('heading', { name: 'Devices with a gateway' }).waitFor()
    const lists = await page.getByRole('heading', { level: 2 }).allTextContents()
    assert.deepEqual(lists, ['Sessions', 'Devices with a gateway'], 'the list with the open session is not first')
    await follow(page, '/remote?view=switches')
    await page.getByRole('switch', { name: 'Remote access through hall:' }).waitFor()
    await assertAxeCleanEverywhere(page, 'switches')
    await clickAsPerson(page.getByRole('switch', { name: 'Remote access is on' }))
    await dialog().getByText('1 session ends immediately.').waitFor()
    await assertOverlayReachable(page, 'confirmation')
    await inDialog('Switch off').click()
    await page.getByRole('switch', { name: 'Remote access is off' }).waitFor()
    await page.getByRole('tab', { name: 'Sessions' }).click()
    const rows = page
      .getByRole('grid', { name: 'Sessions', exact: true })
      .getByRole('row')
      .filter({ hasText: deviceName })
    await rows.filter({ hasText: 'Remote access switched off' }).first().waitFor()
    await page.getByText('Sessions not allowed · hall').waitFor()
    assert.equal(await rows.count(), 4)
    await assertAxeCleanEverywhere(page, 'list of sessions')
    await openDialog()
    await dialog().getByText('Remote access is switched off.').waitFor()
    await dialog().getByRole('link', { name: 'Go to the settings' }).click()
    await page.getByRole('switch', { name: 'Remote access is off' }).click()
    await page.getByRole('switch', { name: 'Remote access is on' }).waitFor()
  })

  test('is used in German', async () => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('deutsch')
    await page.keyboard.press('Enter')
    await heading('Fernzugriff')
    await page.getByRole('switch', { name: 'Fernzugriff ist eingeschaltet' }).waitFor()
    await follow(page, `/assets/${assetId}`)
    await clickAsPerson(button('Verbinden'))
    await dialog().getByText('Eine andere Person muss die Sitzung freigeben, bevor sie geöffnet wird.').waitFor()
    await page.keyboard.press('Escape')
  })

  test('hides remote access from users without its permissions', async () => {
    const viewer = { name: 'reader', password }
    const { data: user } = await caller.identity.createUser({ body: { data: viewer } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'viewer' } } })
    const { page: other, context } = await consoleBrowser.open()
    await consoleBrowser.signIn(other, { user: viewer, path: `/assets/${assetId}` })
    await heading(deviceName, other)
    assert.equal(await other.getByRole('button', { name: 'Connect', exact: true }).count(), 0)
    assert.equal(await navigationTo(other, 'Remote access').count(), 0)
    await context.close()
  })

  test('states the missing permission to a user who can see the sessions, but cannot connect', async () => {
    const gatewayManager = { name: 'gateway-manager', password }
    const { data: user } = await caller.identity.createUser({ body: { data: gatewayManager } })
    const permissions = ['glb_gateway_manage' as const, 'glb_jobs_read' as const]
    await caller.authorization.createRole({ body: { data: { name: gatewayManager.name, permissions } } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: gatewayManager.name } } })
    const { page: other, context } = await consoleBrowser.open()
    await consoleBrowser.signIn(other, { user: gatewayManager, path: '/remote' })
    await other.getByText('This needs the permission remote_access_connect.').waitFor()
    assert.equal(await other.getByRole('button', { name: /^Connect/ }).count(), 0)
    await assertAxeClean(other, 'remote access without the permission to connect')
    await context.close()
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    const outside = consoleBrowser.violations.filter((text) => !/^http:\/\/[0-9a-f-]{36}\.localhost:/.test(text))
    assert.deepEqual(outside, [])
  })
})
