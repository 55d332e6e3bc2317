import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import { brokerKinds } from '@millwright/cloud/services/events/mqtt/testing.ts'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
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
import { type Caller, callerOf, type Platform, signIn, startPlatform, temporaryFolder, until } from './platform.ts'
import { assertOverlayReachable, clickAsPerson } from './reachability.ts'

type ReceivedRequest = { headers: IncomingHttpHeaders; body: string; event: CloudEvent }

/** `Receiver` is an HTTP server that receives the requests of webhooks. It answers with `status`. */
type Receiver = { server: Server; url: string; status: number; received: ReceivedRequest[] }

async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString()
      receiver.received.push({ headers: request.headers, body, event: JSON.parse(body) })
      response.writeHead(receiver.status, { 'content-type': 'text/plain' })
      response.end(receiver.status < 300 ? 'stored' : 'the disk is full')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const receiver: Receiver = { server, url, status: 200, received: [] }
  return receiver
}

/** Computes the signature of a request as the dialog with the secret describes it. */
function signatureOf(secret: string, { headers, body }: ReceivedRequest): string {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

describe('webhooks in the console', () => {
  const folder = temporaryFolder()
  const environment = { MILLWRIGHT_OUTBOUND_ALLOW: '127.0.0.1' }
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let receiver: Receiver
  let page: Page
  let webhookId = ''
  let secret = ''
  let assets = 0

  before(async () => {
    ;[platform, { browser }, receiver] = await Promise.all([
      startPlatform({ home: folder.path, environment }),
      openBrowser(),
      startReceiver(),
    ])
    caller = await callerOf(platform)
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open())
    await consoleBrowser.signIn(page)
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    receiver?.server.close()
    receiver?.server.closeAllConnections()
    folder[Symbol.dispose]()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true }).first()
  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const log = () => page.getByRole('region', { name: 'Delivery log' })
  const logRow = (...texts: string[]) =>
    texts.reduce((rows, hasText) => rows.filter({ hasText }), log().getByRole('row')).first()
  const notice = (name: string) => page.getByRole('region', { name })
  const openWebhook = () => follow(page, `/webhooks/${webhookId}`)

  async function createAsset(): Promise<string> {
    assets += 1
    const name = `Pump ${assets}`
    const asset = {
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name,
      asset_identifiers: [
        { asset_identifier_type: 'MacIdentifier', mac_address: `00:1b:1b:00:01:${String(assets).padStart(2, '0')}` },
      ],
    }
    await caller.inventory.createAssets({ headers: { prefer: 'wait=30' }, body: { data: { assets: [asset] } } })
    return name
  }

  /** Creates an asset and waits until the receiver has received the event about it. */
  async function createDeliveredAsset(): Promise<void> {
    const before = receiver.received.length
    await createAsset()
    await until('the receiver receives an event', () => receiver.received.length > before)
  }

  async function openMenu(entry: string): Promise<void> {
    await clickAsPerson(button('More'))
    await clickAsPerson(page.getByRole('menuitem', { name: entry, exact: true }))
    await dialog().waitFor()
  }

  async function assertDialogUsable(where: string): Promise<void> {
    for (const viewport of [narrow, wide]) {
      await page.setViewportSize(viewport)
      await assertOverlayReachable(page, `${where}, ${viewport.width} pixels`)
    }
    await assertAxeCleanEverywhere(page, where)
  }

  test('explains webhooks and the setting of the installation when there are none', async () => {
    await clickAsPerson(navigationTo(page, 'Webhooks and MQTT'))
    await page.getByText('No webhooks yet').waitFor()
    await page.getByText('MILLWRIGHT_OUTBOUND_ALLOW=cmms.example.com').waitFor()
    await page.getByText('Allowed now: 127.0.0.1').waitFor()
    await assertAxeCleanEverywhere(page, 'webhooks, empty')
    await clickAsPerson(page.getByRole('tab', { name: 'MQTT publishers' }))
    await page.getByText('No MQTT publishers yet').waitFor()
    await clickAsPerson(page.getByRole('tab', { name: 'Webhooks' }))
  })

  test('refuses a target that the installation does not allow, and a form with missing fields', async () => {
    await clickAsPerson(button('Create webhook'))
    await heading('Create webhook')
    await clickAsPerson(page.getByRole('checkbox', { name: 'Assets' }))
    await clickAsPerson(button('Create'))
    await page.getByText('Required', { exact: true }).waitFor()
    await page.getByText('Select at least one event type.').waitFor()
    await assertAxeCleanEverywhere(page, 'new webhook')
    await page.getByLabel('URL').fill('https://192.0.2.7/hook')
    await clickAsPerson(page.getByRole('checkbox', { name: 'Assets' }))
    await clickAsPerson(button('Create'))
    await page.getByRole('alert').getByText('target_not_allowed').waitFor()
  })

  test('creates a webhook, and shows its secret once', async () => {
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByLabel('Name').fill('Maintenance')
    await clickAsPerson(page.getByText('Filter for assets'))
    await page.getByLabel('Filter expression').fill("startswith(name,'Pump')")
    await page.getByText('0 assets match now.').waitFor()
    await clickAsPerson(button('Create'))
    secret =
      (await dialog()
        .getByText(/^whsec_/)
        .textContent()) ?? ''
    await assertDialogUsable('secret of a webhook')
    await clickAsPerson(inDialog('I have stored the secret'))
    await heading('Maintenance')
    assert.ok(!(await page.content()).includes(secret), 'the page contains the secret')
    const { data } = await caller.events.listWebhooks({ query: {} })
    webhookId = data[0]?.id ?? ''
    assert.deepEqual(data[0]?.types, ['io.millwright.inventory.asset.'])
    await log().getByText('No deliveries yet').waitFor()
  })

  test('shows a delivery without a reload, and the receiver can check its signature with the secret', async () => {
    await createDeliveredAsset()
    const [request] = receiver.received
    assert.ok(request !== undefined)
    assert.equal(request.headers['webhook-signature'], signatureOf(secret, request))
    await logRow('inventory.asset.created').getByText('Delivered').waitFor()
    await page.getByText('All events up to position').waitFor()
    await assertAxeCleanEverywhere(page, 'webhook')
    await clickAsPerson(logRow('inventory.asset.created').getByText('Delivered'))
    await dialog().getByText(`webhook-id: ${request.event.id}`).waitFor()
    await dialog().getByText('"specversion": "1.0"').waitFor()
    await dialog().getByText('stored', { exact: true }).waitFor()
    assert.ok(!(await dialog().textContent())?.includes('webhook-signature'), 'the log contains a signature')
    await assertDialogUsable('delivery')
    await page.keyboard.press('Escape')
  })

  test('sends a test event, and shows the response at once', async () => {
    await clickAsPerson(button('Send test event'))
    await dialog().getByText('Delivered', { exact: true }).waitFor()
    await dialog().getByText('200', { exact: true }).waitFor()
    receiver.status = 500
    await clickAsPerson(inDialog('Send again'))
    await dialog().getByText('Not delivered').waitFor()
    await dialog().getByText('the disk is full').waitFor()
    receiver.status = 200
    await assertDialogUsable('test event')
    await clickAsPerson(inDialog('Close').last())
    await logRow('events.webhook.tested').waitFor()
  })

  test('explains an open circuit, lists failed deliveries, and sends one of them again', async () => {
    receiver.status = 503
    for (let count = 0; count < 6; count++) await createAsset()
    await notice('Interrupted: the receiver failed several times').waitFor()
    await page.getByText('Next attempt', { exact: true }).first().waitFor()
    await clickAsPerson(log().getByText('Failed', { exact: true }).first())
    await logRow('503').waitFor()
    await assertAxeCleanEverywhere(page, 'webhook with an open circuit')
    await follow(page, '/webhooks')
    await page.getByRole('row').filter({ hasText: 'Interrupted' }).getByText('503').waitFor()
    await notice('Maintenance · Interrupted: the receiver failed several times').waitFor()
    await page.getByText('The service at this address is down or overloaded.').waitFor()
    await page
      .getByRole('row')
      .filter({ hasText: 'Interrupted' })
      .getByText(/^Worked until/)
      .waitFor()
    await clickAsPerson(page.getByRole('button', { name: 'Send test event' }))
    await dialog().getByText('Not delivered').waitFor()
    await clickAsPerson(inDialog('Close').last())
    await clickAsPerson(page.getByRole('button', { name: 'Retry now' }))
    await page.getByText('The waiting events are sent now').first().waitFor()
    await page
      .getByRole('row')
      .filter({ hasText: /Interrupted|Failing/ })
      .first()
      .waitFor()
    await assertAxeCleanEverywhere(page, 'list of webhooks')
    await clickAsPerson(page.getByRole('gridcell', { name: 'Maintenance' }))
    await heading('Maintenance')
    // The newest failed delivery can be the one of the test event, which cannot be sent again.
    await clickAsPerson(logRow('inventory.asset.created', '503').getByText('Failed'))
    await inDialog('Send again now').waitFor()
    receiver.status = 200
    await clickAsPerson(inDialog('Send again now'))
    await dialog().getByText('Delivered', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await notice('Interrupted: the receiver failed several times').waitFor({ state: 'detached' })
    await until('all events are delivered', async () => {
      const { data } = await caller.events.readWebhook({ params: { id: webhookId } })
      return data.waiting === 0
    })
  })

  test('pauses and resumes a webhook', async () => {
    await openWebhook()
    await clickAsPerson(button('Pause'))
    await notice('Paused').waitFor()
    const before = receiver.received.length
    await createAsset()
    await notice('Paused')
      .getByText(/[1-9]\d* newer events? waits?/)
      .waitFor()
    assert.equal(receiver.received.length, before)
    await clickAsPerson(notice('Paused').getByRole('button', { name: 'Resume' }))
    await until('the event is sent', () => receiver.received.length > before)
    await notice('Paused').waitFor({ state: 'detached' })
  })

  test('edits a webhook: warns about a new owner, and does not overwrite a concurrent change', async () => {
    const change = { params: { id: webhookId }, headers: {} }
    await caller.events.updateWebhook({ ...change, body: { data: { batchSize: 2 } } })
    await openWebhook()
    await clickAsPerson(button('Edit'))
    await heading('Edit Maintenance')
    await page.getByLabel('Name').fill('Maintenance 2')
    assert.equal(await page.getByText('makes you the owner').count(), 0)
    await page.getByLabel('Events per request').fill('1')
    await page.getByText('This change makes you the owner').waitFor()
    await assertAxeCleanEverywhere(page, 'edit a webhook')
    await caller.events.updateWebhook({ ...change, body: { data: { name: 'Other name' } } })
    await clickAsPerson(button('Save'))
    await page.getByRole('alert').getByText('precondition_failed').waitFor()
    await clickAsPerson(button('Load the current settings'))
    await until(
      'the form shows the current name',
      async () => (await page.getByLabel('Name').inputValue()) === 'Other name',
    )
    await page.getByLabel('Name').fill('Maintenance')
    await page.getByLabel('Events per request').fill('1')
    await clickAsPerson(button('Save'))
    await heading('Maintenance')
    const { data } = await caller.events.readWebhook({ params: { id: webhookId } })
    assert.equal(data.batchSize, 1)
    assert.equal(data.owner.name, platform.access.adminUser)
  })

  test('explains that the owner is disabled, and sends again after another user became the owner', async () => {
    const jane = { name: 'jane', password: 'a long enough passphrase for pumps' }
    const { data: user } = await caller.identity.createUser({ body: { data: jane } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'administrator' } } })
    const session = await signIn(platform.baseUrl, jane)
    const janeCaller = await callerOf(platform, 'token' in session ? session.token : assert.fail())
    const types = ['io.millwright.inventory.asset.']
    await janeCaller.events.updateWebhook({ params: { id: webhookId }, headers: {}, body: { data: { types } } })
    await caller.identity.updateUser({ params: { id: user.id }, body: { data: { disabled: true } } })
    const before = receiver.received.length
    await createAsset()
    await openWebhook()
    const paused = notice('Paused: the owner is disabled or deleted')
    await paused.getByText('jane can no longer read events').waitFor()
    assert.equal(receiver.received.length, before)
    await assertAxeClean(page, 'webhook of a disabled owner')
    await clickAsPerson(paused.getByRole('button', { name: 'Become the owner' }))
    await until('the event is sent', () => receiver.received.length > before)
    await paused.waitFor({ state: 'detached' })
  })

  test('does not show webhooks to a user without the permission', async () => {
    const viewer = { name: 'viewer', password: 'a long enough passphrase for valves' }
    const { data: user } = await caller.identity.createUser({ body: { data: viewer } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'viewer' } } })
    const { context, page: viewerPage } = await consoleBrowser.open()
    await consoleBrowser.signIn(viewerPage, { user: viewer, path: '/webhooks' })
    await viewerPage.getByText('glb_webhook_manage').waitFor()
    assert.equal(await navigationTo(viewerPage, 'Webhooks').count(), 0)
    await context.close()
  })

  test('rotates the secret, and signs with both secrets until the previous one expires', async () => {
    await openWebhook()
    await openMenu('Rotate secret…')
    await dialog().getByLabel('Hours until the previous secret expires').fill('200')
    await clickAsPerson(inDialog('Create new secret'))
    await dialog().getByText('Enter a whole number from 0 to 168.').waitFor()
    await dialog().getByLabel('Hours until the previous secret expires').fill('2')
    await assertDialogUsable('rotation of a secret')
    await clickAsPerson(inDialog('Create new secret'))
    const next =
      (await dialog()
        .getByText(/^whsec_/)
        .textContent()) ?? ''
    assert.notEqual(next, secret)
    await clickAsPerson(inDialog('I have stored the secret'))
    await page.getByText('Valid until').waitFor()
    await createDeliveredAsset()
    const request = receiver.received.at(-1) ?? assert.fail('nothing was received')
    const signatures = String(request.headers['webhook-signature']).split(' ')
    assert.deepEqual(new Set(signatures), new Set([signatureOf(next, request), signatureOf(secret, request)]))
    secret = next
  })

  test('replays events from the oldest one, from a time and from a position, and shows how many', async () => {
    await openWebhook()
    await openMenu('Replay events…')
    await dialog()
      .getByText(/^\d+ events$/)
      .waitFor()
    await dialog().getByText('From a time').click()
    await dialog().getByLabel('Time of the first event', { exact: true }).fill('2020-01-01T00:00:00')
    await page.keyboard.press('Tab')
    await dialog()
      .getByText(/^\d+ events$/)
      .waitFor()
    await dialog().getByText('From a position').click()
    await dialog().getByLabel('From a position').last().fill('999999999')
    await dialog().getByText('There are no events from this point on.').waitFor()
    await dialog().getByText('Oldest stored event').click()
    await assertDialogUsable('replay')
    const first = receiver.received.find(({ event }) => event.type.endsWith('asset.created')) ?? assert.fail()
    const before = receiver.received.length
    await clickAsPerson(inDialog('Replay'))
    await until('the first event is sent again', () =>
      receiver.received.slice(before).some(({ event }) => event.id === first.event.id),
    )
  })

  test('shows on the start page that the receiver has disabled a webhook', async () => {
    await until('the replay has ended', async () => {
      const { data } = await caller.events.readWebhook({ params: { id: webhookId } })
      return data.position >= data.newestPosition && data.waiting === 0
    })
    await openWebhook()
    receiver.status = 410
    await createAsset()
    await notice('Disabled: the receiver responded with 410 Gone').waitFor()
    await assertAxeCleanEverywhere(page, 'disabled webhook')
    await follow(page, '/')
    const stopped = notice('Your webhook Maintenance no longer sends events')
    await stopped.getByText(receiver.url).waitFor()
    await assertAxeCleanEverywhere(page, 'start page with a disabled webhook')
    await clickAsPerson(stopped.getByRole('link', { name: 'Open and continue' }))
    await heading('Maintenance')
    receiver.status = 200
    const before = receiver.received.length
    await clickAsPerson(notice('Disabled').getByRole('button', { name: 'Activate' }))
    await until('the event is sent after the activation', () => receiver.received.length > before)
    await notice('Disabled').waitFor({ state: 'detached' })
    await follow(page, '/')
    await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor()
    await stopped.waitFor({ state: 'detached' })
  })

  test('previews the topics of an MQTT publisher, and names wrong placeholders', async () => {
    await follow(page, '/webhooks?view=mqtt')
    await clickAsPerson(button('Create MQTT publisher'))
    await heading('Create MQTT publisher')
    await page.getByLabel('Topic template').fill('plant/{kind}/{id}')
    await page.getByText(/^plant\/asset\/[0-9a-f-]{36}$/).waitFor()
    await page.getByLabel('Topic template').fill('plant/{name}')
    await page.getByText('These placeholders do not exist: {name}.').waitFor()
    await page.getByLabel('Topic template').fill('plant/{type}')
    await page.getByText('plant/io/millwright/inventory/asset/updated').waitFor()
    await clickAsPerson(page.getByRole('checkbox', { name: 'Retain the last event of each topic' }))
    await page.getByLabel('Broker address').fill('https://127.0.0.1')
    await clickAsPerson(button('Create'))
    await page.getByText('A retained topic cannot contain {type}').waitFor()
    await page.getByText('Enter an address that starts with mqtts:// or mqtt://.').waitFor()
    await assertAxeCleanEverywhere(page, 'new MQTT publisher')
  })

  test('creates an MQTT publisher, and sends a test event to its broker', async () => {
    await using broker = (await brokerKinds.find(({ name }) => name === 'aedes')?.start()) ?? assert.fail()
    await using subscriber = await broker.subscribe('plant/#')
    await follow(page, '/webhooks')
    await follow(page, '/webhooks/mqtt/new')
    await heading('Create MQTT publisher')
    await page.getByLabel('Broker address').fill(`mqtt://127.0.0.1:${broker.port}`)
    await page.getByLabel('Name').first().fill('Plant broker')
    await page.getByLabel('Topic template').fill('plant/{kind}')
    await clickAsPerson(button('Create'))
    await heading('Plant broker')
    await clickAsPerson(button('Send test event'))
    await dialog().getByText('Delivered', { exact: true }).waitFor()
    assert.deepEqual(
      subscriber.messages.map(({ topic }) => topic),
      ['plant/mqtt-publisher'],
    )
    await page.keyboard.press('Escape')
    await createAsset()
    await logRow('inventory.asset.created').getByText('Delivered').waitFor()
    await clickAsPerson(logRow('inventory.asset.created').getByText('Delivered'))
    await dialog().getByText('plant/asset', { exact: true }).waitFor()
    await assertDialogUsable('delivery to a broker')
    await page.keyboard.press('Escape')
    await assertAxeCleanEverywhere(page, 'MQTT publisher')
    await openMenu('Delete…')
    await clickAsPerson(inDialog('Delete'))
    await page.getByText('No MQTT publishers yet').waitFor()
  })

  test('lists events that could not be delivered for 72 hours as dead letters, and sends them again', async () => {
    receiver.status = 503
    await createAsset()
    await until('the event has failed', async () => {
      const { data } = await caller.events.readWebhook({ params: { id: webhookId } })
      return data.waiting > 0
    })
    await platform.stop()
    const clock = new URL('./skewed-clock.mjs', import.meta.url).href
    const skewed = { ...environment, NODE_OPTIONS: `--import=${clock}`, SKEWED_HOURS: '73' }
    platform = await startPlatform({ home: folder.path, environment: skewed })
    caller = await callerOf(platform)
    const { violations } = consoleBrowser
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open())
    await consoleBrowser.signIn(page, { path: `/webhooks/${webhookId}` })
    await heading('Maintenance')
    await clickAsPerson(log().getByText('Dead letters', { exact: true }).first())
    await logRow('inventory.asset.created').getByText('Dead letter').waitFor()
    await assertAxeCleanEverywhere(page, 'dead letters')
    receiver.status = 200
    await clickAsPerson(button('Retry dead letters'))
    await dialog().getByText('The event is sent again now').waitFor()
    await assertOverlayReachable(page, 'retry dead letters')
    const before = receiver.received.length
    await clickAsPerson(inDialog('Retry dead letters'))
    await until('the dead letter is sent', () => receiver.received.length > before)
    await log().getByText('No deliveries in this part of the log').waitFor()
    assert.deepEqual(violations, [])
  })

  test('shows the pages of webhooks in German, also in a narrow window, and deletes a webhook', async () => {
    await clickAsPerson(page.getByTitle('Account menu'))
    await clickAsPerson(page.getByRole('menuitemradio', { name: 'Deutsch' }))
    await openWebhook()
    await page.getByRole('heading', { name: 'Zustellprotokoll' }).waitFor()
    await page.getByText('Alle Ereignisse bis Position').waitFor()
    await page.setViewportSize(narrow)
    await assertAxeClean(page, 'webhook, German, narrow')
    await clickAsPerson(button('Mehr'))
    await clickAsPerson(page.getByRole('menuitem', { name: 'Löschen…' }))
    await dialog().getByText('Maintenance löschen?').waitFor()
    await assertOverlayReachable(page, 'delete a webhook, German, narrow')
    await assertAxeClean(page, 'delete a webhook, German, narrow')
    await clickAsPerson(inDialog('Löschen'))
    await page.getByText('Noch keine Webhooks').waitFor()
    await page.setViewportSize(wide)
    assert.deepEqual((await caller.events.listWebhooks({ query: {} })).data, [])
  })

  test('the pages caused no errors, no requests to other hosts, and no unreachable controls', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
