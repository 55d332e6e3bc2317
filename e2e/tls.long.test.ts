import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { freePort } from '@millwright/api/port-testing.ts'
import { openBrowser } from './browser.ts'
import { consoleOf } from './console.ts'
import { callerOf, type Platform, startPlatformIn, temporaryFolder, until } from './platform.ts'
import { millwright } from './program.ts'

/** These tests start the platform with a certificate of `millwright tls create`, as a user does. */
describe('npm start with TLS', () => {
  const folder = temporaryFolder('tls')
  const home = join(folder.path, 'home')
  const file = (name: string) => join(home, 'tls', name)
  const publicAuthorities = getCACertificates('default')
  let platform: Platform
  let redirectPort: number

  const start = () =>
    startPlatformIn({
      home,
      environment: {
        MILLWRIGHT_TLS_CERT: file('server.pem'),
        MILLWRIGHT_TLS_KEY: file('server-key.pem'),
        MILLWRIGHT_HTTP_REDIRECT_PORT: String(redirectPort),
        MILLWRIGHT_LOCAL_GATEWAY: 'on',
        MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0',
        MILLWRIGHT_GATEWAY_PROXY_PORT: '0',
        MILLWRIGHT_GATEWAY_LINKS: 'none',
      },
    })
  const command = (...args: string[]) =>
    millwright(args, { home, environment: { XDG_CONFIG_HOME: join(folder.path, 'config') } }).ended

  before(async () => {
    const { code, stderr } = await command('tls', 'create')
    assert.equal(code, 0, stderr)
    setDefaultCACertificates([...publicAuthorities, readFileSync(file('authority.pem'), 'utf8')])
    redirectPort = await freePort()
    platform = await start()
  })

  after(async () => {
    await platform[Symbol.asyncDispose]()
    setDefaultCACertificates(publicAuthorities)
    folder[Symbol.dispose]()
  })

  async function isGatewayOnline(): Promise<boolean> {
    const { onboarding } = await callerOf(platform)
    const { data } = await onboarding.listGateways({})
    return data.length === 1 && data[0]?.state === 'online'
  }

  test('prints addresses with https, and the local gateway is online', async () => {
    assert.match(platform.baseUrl, /^https:\/\/localhost:\d+$/)
    assert.equal(platform.access.baseUrl, platform.baseUrl)
    await until('the local gateway is online', isGatewayOnline)
  })

  test('the configuration file of a new gateway contains the authority', async () => {
    const { onboarding } = await callerOf(platform)
    const { data } = await onboarding.createGateway({ body: { data: { name: 'hall' } } })
    const { tls } = await onboarding.createGatewayConfig({ params: { id: data.id } })
    await onboarding.deleteGateway({ params: { id: data.id } })
    assert.equal(tls?.authority?.trim(), readFileSync(file('authority.pem'), 'utf8').trim())
  })

  test('redirects from http', async () => {
    const response = await fetch(`http://127.0.0.1:${redirectPort}/console?x=1`, { redirect: 'manual' })
    assert.deepEqual([response.status, response.headers.get('location')], [308, `${platform.baseUrl}/console?x=1`])
  })

  test('sends no HSTS header for localhost', async () => {
    const response = await fetch(`${platform.baseUrl}/healthz`)
    assert.equal(response.headers.get('strict-transport-security'), null)
  })

  test('commands on the machine of the platform accept the certificate', async () => {
    const { code, stdout, stderr } = await command('whoami')
    assert.equal(code, 0, stderr)
    assert.ok(stdout.includes(platform.baseUrl), stdout)
  })

  test('users sign in to the console, and all cookies are sent over https only', async () => {
    const { browser } = await openBrowser()
    try {
      const consoleBrowser = consoleOf(platform, browser)
      // The browser of the test has no store in which a user could import the authority.
      const { context, page } = await consoleBrowser.open({ ignoreHTTPSErrors: true })
      await consoleBrowser.signIn(page)
      assert.equal(new URL(page.url()).origin, platform.baseUrl)
      const cookies = await context.cookies()
      assert.ok(cookies.length > 0)
      assert.deepEqual(
        cookies.filter(({ secure }) => !secure).map(({ name }) => name),
        [],
      )
      assert.deepEqual(consoleBrowser.violations, [])
    } finally {
      await browser.close()
    }
  })

  test('uses a renewed certificate without a restart', async () => {
    const { code, stderr } = await command('tls', 'create', '--days', '7')
    assert.equal(code, 0, stderr)
    await until('/readyz reports that the new certificate expires soon', async () => {
      const response = await fetch(`${platform.baseUrl}/readyz`)
      return /The TLS certificate expires on/.test(await response.text())
    })
    assert.ok(await isGatewayOnline())
  })

  test('the local gateway accepts a certificate of an unknown authority by its fingerprint', async () => {
    await platform.stop()
    const [leaf = ''] = readFileSync(file('server.pem'), 'utf8').split(/(?<=-----END CERTIFICATE-----\n)/)
    writeFileSync(file('server.pem'), leaf)
    platform = await start()
    await until('the local gateway is online', isGatewayOnline)
    const { tls } = JSON.parse(readFileSync(join(home, 'gateway', 'gateway-config.json'), 'utf8'))
    assert.match(tls.fingerprint, /^[0-9A-F:]{95}$/)
  })
})
