import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type CertificateWithKey, createAuthority, createCertificate } from '@millwright/api/certificates.ts'
import { Clock } from '../clock.ts'
import { CloudConnection } from '../cloud-connection.ts'
import { startGateway } from '../gateway.ts'
import { enrolledIdentity } from '../identity/enrolment.ts'
import { ownKey } from '../identity/key.ts'
import { TokenSource } from '../identity/token.ts'
import type { LeasedJob } from '../jobs/leased-job.ts'
import { createLog } from '../log.ts'
import { TestProxy } from '../remote-access/proxy-testing.ts'
import { SetupError } from '../setup-error.ts'
import { settingsFor, TestCloud, temporaryFolder, until } from '../testing.ts'
import { artefactSource } from '../updates/artefact-source.ts'
import { PlatformConnector } from './platform-connector.ts'
import { fetchOver } from './platform-fetch.ts'

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
const newAuthority = (name: string) => createAuthority({ subject: { name }, validity: { to: inDays(30) } })
const authority = newAuthority('Plant authority')
const otherAuthority = newAuthority('Other authority')

type Platform = { issuer?: CertificateWithKey; host?: string; from?: Date; to?: Date }

function certificateOf({ issuer = authority, host = '127.0.0.1', from = inDays(-20), to = inDays(20) }: Platform) {
  return createCertificate({
    authority: issuer,
    subject: { name: 'platform' },
    hosts: [host],
    usages: ['server'],
    validity: { from, to },
  })
}

function fingerprintOf({ certificate }: CertificateWithKey): string {
  return new X509Certificate(certificate).fingerprint256
}

type Case = { platform?: Platform; tls?: object; outgoingProxy?: string; home?: string }

/** Starts a platform with TLS and a gateway whose configuration file contains `tls`. */
async function gatewayWith({ platform = {}, tls, outgoingProxy, home = temporaryFolder() }: Case) {
  const certificate = certificateOf(platform)
  await using stack = new AsyncDisposableStack()
  const cloud = stack.use(await TestCloud.start(0, certificate))
  let tunnels = 0
  cloud.acceptTunnels(() => {
    tunnels += 1
  })
  const fingerprint = fingerprintOf(certificate)
  cloud.configure(home, { tls: tls ?? { fingerprint } })
  const gateway = await startGateway(settingsFor(home, { outgoingProxy }))
  stack.defer(() => gateway.stop())
  const running = stack.move()
  return {
    ...{ cloud, gateway, home, fingerprint },
    tunnels: () => tunnels,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

describe('accepted certificates of the platform', () => {
  test('accepts a platform with a certificate of the given authority, for requests and for the tunnel', async () => {
    await using started = await gatewayWith({ tls: { authority: authority.certificate } })
    await until(() => started.gateway.status().cloud.standing === 'online' && started.tunnels() === 1)
    assert.equal(started.gateway.status().cloud.trust, 'authority Plant authority')
  })

  test('accepts a platform whose authority is in a file next to the configuration file, and later without both files', async () => {
    const home = temporaryFolder()
    writeFileSync(join(home, 'plant.pem'), authority.certificate)
    await using started = await gatewayWith({ home, tls: { authority: 'plant.pem' } })
    assert.equal(JSON.parse(readFileSync(join(home, 'identity.json'), 'utf8')).tls.authority, authority.certificate)
    await started.gateway.stop()
    const settings = settingsFor(home, { configFile: join(home, 'missing.json') })
    const again = await startGateway(settings)
    try {
      await until(() => again.status().cloud.standing === 'online')
    } finally {
      await again.stop()
    }
  })

  for (const [name, platform] of [
    ['of an unknown authority', { issuer: otherAuthority }],
    ['with another name', { host: 'other.example' }],
  ] as const)
    test(`accepts a platform with the given fingerprint, also if the certificate is ${name}`, async () => {
      await using started = await gatewayWith({ platform })
      await until(() => started.gateway.status().cloud.standing === 'online' && started.tunnels() === 1)
      assert.equal(started.gateway.status().cloud.trust, `certificate ${started.fingerprint}`)
    })

  test('accepts a fingerprint in lower case without colons', async () => {
    const certificate = certificateOf({})
    await using cloud = await TestCloud.start(0, certificate)
    const home = temporaryFolder()
    cloud.configure(home, { tls: { fingerprint: fingerprintOf(certificate).replaceAll(':', '').toLowerCase() } })
    const gateway = await startGateway(settingsFor(home))
    await gateway.stop()
  })

  for (const tls of [{ authority: authority.certificate }, undefined])
    test(`accepts a platform through an HTTP proxy with the ${tls === undefined ? 'fingerprint' : 'authority'}`, async () => {
      await using proxy = await TestProxy.start()
      const outgoingProxy = `http://127.0.0.1:${proxy.port}`
      await using started = await gatewayWith({ outgoingProxy, ...(tls === undefined ? {} : { tls }) })
      await until(() => started.gateway.status().cloud.standing === 'online' && started.tunnels() === 1)
      assert.ok(proxy.targets.length >= 2)
      assert.ok(proxy.targets.every((target) => target === new URL(started.cloud.url).host))
    })
})

describe('refused certificates of the platform', () => {
  const trusted = { authority: authority.certificate }
  const pinned = { fingerprint: 'ab'.repeat(32) }
  const cases: [string, Case, RegExp][] = [
    [
      'if another authority signed the certificate',
      { platform: { issuer: otherAuthority }, tls: trusted },
      /not from the authority in gateway-config\.json .*tls\.authority/,
    ],
    [
      'without tls in its configuration file',
      { tls: {} },
      /not from an authority that this machine trusts .* Write the authority or the fingerprint/,
    ],
    [
      'if the certificate is for another name',
      { platform: { host: 'other.example' }, tls: trusted },
      /is for other names \(DNS:other\.example\)\. Use one of these names in baseUrl/,
    ],
    [
      'if the certificate has expired',
      { platform: { to: inDays(-1) }, tls: trusted },
      /has expired\. Renew the certificate/,
    ],
    [
      'if the certificate is not valid yet',
      { platform: { from: inDays(1) }, tls: trusted },
      /is not valid yet\. Correct the clock/,
    ],
    [
      'if the fingerprint differs',
      { tls: pinned },
      /expected AB:AB:.+:AB, got [0-9A-F:]{95}\. If the platform has a new certificate/,
    ],
    ['if the authority matches, but not the fingerprint', { tls: { ...trusted, ...pinned } }, /another fingerprint/],
    ['if the fingerprint matches, but the certificate has expired', { platform: { to: inDays(-1) } }, /has expired \(/],
  ]
  for (const [name, given, message] of cases)
    for (const way of ['directly', 'through an HTTP proxy'] as const)
      test(`does not enrol, and sends nothing, ${name} (${way})`, async () => {
        const certificate = certificateOf(given.platform ?? {})
        await using cloud = await TestCloud.start(0, certificate)
        await using proxy = await TestProxy.start()
        const home = temporaryFolder()
        cloud.configure(home, { tls: given.tls ?? { fingerprint: fingerprintOf(certificate) } })
        const outgoingProxy = way === 'directly' ? undefined : `http://127.0.0.1:${proxy.port}`
        await assert.rejects(startGateway(settingsFor(home, { outgoingProxy })), (error: unknown) => {
          assert.ok(error instanceof SetupError)
          assert.match(error.message, message)
          return true
        })
        assert.deepEqual(cloud.requests, [])
      })

  test('does not enrol if the platform has no TLS at an https address', async () => {
    await using cloud = await TestCloud.start()
    const home = temporaryFolder()
    cloud.configure(home, { baseUrl: cloud.url.replace('http:', 'https:'), tls: trusted })
    await assert.rejects(startGateway(settingsFor(home)), /does not answer with TLS .* Check the protocol and the port/)
  })

  for (const [name, tls, message] of [
    ['an http address', trusted, /contains tls, but baseUrl is http:/],
    ['a missing file', { authority: 'missing.pem' }, /missing\.pem cannot be read \(ENOENT\)/],
    [
      'a text that is not a certificate',
      { authority: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
      /not a certificate in PEM format/,
    ],
    ['a short fingerprint', { fingerprint: 'ab:cd' }, /64 hexadecimal digits/],
    ['an unknown field', { pin: 'ab' }, /not a valid gateway-config\.json/],
  ] as const)
    test(`does not enrol with ${name} in the configuration file`, async () => {
      await using cloud = await TestCloud.start()
      const home = temporaryFolder()
      const baseUrl = message.source.includes('http:') ? cloud.url : 'https://127.0.0.1:1'
      cloud.configure(home, { baseUrl, tls })
      await assert.rejects(startGateway(settingsFor(home)), message)
      assert.deepEqual(cloud.requests, [])
    })
})

test('an enrolled gateway does not connect when the certificate changes, until its configuration has the new fingerprint', async () => {
  const home = temporaryFolder()
  const before = await gatewayWith({ home })
  const port = Number(new URL(before.cloud.url).port)
  await before[Symbol.asyncDispose]()
  const certificate = certificateOf({})
  await using cloud = await TestCloud.start(port, certificate)
  cloud.key = before.cloud.key
  const refused = await startGateway(settingsFor(home))
  await until(() => refused.status().cloud.standing === 'offline')
  await refused.stop()
  assert.deepEqual(cloud.requests, [])
  cloud.configure(home, { tls: { fingerprint: fingerprintOf(certificate) } })
  const gateway = await startGateway(settingsFor(home))
  try {
    await until(() => gateway.status().cloud.standing === 'online')
  } finally {
    await gateway.stop()
  }
})

test('the download of an artefact uses the same rule, and does not continue with another certificate', async () => {
  const home = temporaryFolder()
  const certificate = certificateOf({})
  const cloud = await TestCloud.start(0, certificate)
  const content = Buffer.from('content of an artefact')
  const serve = (one: TestCloud) => {
    one.handling = (_request, response) => {
      response.end(content)
      return true
    }
  }
  serve(cloud)
  const port = Number(new URL(cloud.url).port)
  cloud.configure(home, { tls: { fingerprint: fingerprintOf(certificate) } })
  const [key, clock] = [await ownKey(join(home, 'gateway-key.pem')), new Clock()]
  const identity = await enrolledIdentity({ home, configFile: join(home, 'gateway-config.json'), key, clock })
  const platform = new PlatformConnector(identity)
  try {
    const { dispatcher } = platform
    const log = createLog({ level: 'silent' })
    const tokens = new TokenSource({ identity, key, clock, log, fetch: fetchOver(dispatcher) })
    const connection = new CloudConnection({ baseUrl: identity.baseUrl, key, clock, tokens, dispatcher })
    const { signal } = new AbortController()
    const leased = { job: { id: crypto.randomUUID() }, lease: crypto.randomUUID() } as LeasedJob
    const source = artefactSource({ cloud: connection, leased, signal, onProgress: () => undefined })
    const download = await source.open(0, signal)
    assert.deepEqual(Buffer.concat(await Array.fromAsync(download.content)), content)
    await cloud.stop()
    await using other = await TestCloud.start(port, certificateOf({}))
    other.key = cloud.key
    serve(other)
    await assert.rejects(source.open(0, signal), /another fingerprint/)
    assert.deepEqual(other.requests, [])
  } finally {
    await platform.close()
    await cloud.stop()
  }
})
