import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { linkIdKey, linkServices, permitKindNumbers, wireMethod } from '@millwright/api/link-protocol.ts'
import { defineLink } from '@millwright/link-sdk/define-link.ts'
import { type LinkSettings, startLink } from '@millwright/link-sdk/start-link.ts'
import { type RunningGateway, startGateway } from '../gateway.ts'
import { createLog } from '../log.ts'
import { settingsFor, TestCloud, temporaryFolder, until } from '../testing.ts'
import { findCertificate, listCertificates, revokeCertificates } from './issued-certificates.ts'
import {
  type ClientTls,
  certificateFrom,
  forgedCertificate,
  registrationError,
  tlsClient,
  unaryError,
} from './testing.ts'

const ovens = defineLink({
  manifest: {
    id: 'test.links.ovens',
    name: 'Ovens',
    vendor: 'Test',
    version: '1.0.0',
    sends: [{ protocol: 'knock', operation: 'Knock', transport: 'udp', description: 'One datagram' }],
  },
  async *discover({ permits }) {
    using _ = await permits.take({ address: '10.0.0.1', protocol: 'knock', operation: 'Knock', kind: 'datagram' })
    const identifier = { asset_identifier_type: 'MacIdentifier', mac_address: '00:16:3e:00:00:01' }
    yield { asset: { name: 'Oven', asset_identifiers: [identifier] }, address: { ip: '10.0.0.1' } }
  },
})

const tlsSettings = { tlsHost: '127.0.0.1', tlsPort: 0, agentTlsPort: 0 } as const

let cloud: TestCloud
let gateway: RunningGateway
const home = temporaryFolder()
const elsewhere = temporaryFolder()
const ports = () => ({ tlsPort: gateway.tlsPort ?? 0, agentTlsPort: gateway.agentTlsPort ?? 0 })

before(async () => {
  cloud = await TestCloud.start()
  cloud.configure(home)
  gateway = await startGateway(settingsFor(home, tlsSettings), { renewEveryMs: 50 })
})
after(async () => {
  await gateway.stop()
  await cloud.stop()
})

const start = (tls: LinkSettings['tls'], more: LinkSettings = {}) =>
  startLink(ovens, { registry: `127.0.0.1:${ports().tlsPort}`, logLevel: 'error', ...(tls && { tls }), ...more })
const linkOf = (id: string, one = gateway) => one.status().links.find(({ appInstanceId }) => appInstanceId === id)

describe('a link on another machine', () => {
  test('a link on another machine registers, is called and takes permits with mutual TLS', async () => {
    const tls = await certificateFrom(home, 'ovens', 'link')
    await using _link = await start(tls)
    const report = await until(() => linkOf('ovens')?.state === 'running' && linkOf('ovens'))
    assert.equal(report.isEncrypted, true)
    const job = cloud.offer('discovery', { assetLinkId: 'ovens' })
    await until(() => cloud.endOf(job))
    assert.deepEqual(
      cloud.found(job).map(({ name }) => name),
      ['Oven'],
    )
  })

  test('a link on another machine stays registered when the gateway restarts, unless its certificate was revoked in the meantime', async () => {
    const other = temporaryFolder()
    await using platform = await TestCloud.start()
    platform.configure(other)
    const first = await startGateway(settingsFor(other, tlsSettings))
    const tls = await certificateFrom(other, 'ovens', 'link')
    await using _link = await startLink(ovens, { registry: `127.0.0.1:${first.tlsPort}`, logLevel: 'error', tls })
    await until(() => linkOf('ovens', first)?.state === 'running')
    await first.stop()
    assert.doesNotMatch(readFileSync(join(other, 'registry.json'), 'utf8'), /PRIVATE/)
    const second = await startGateway(settingsFor(other, tlsSettings))
    await until(() => linkOf('ovens', second)?.state === 'running')
    assert.equal(linkOf('ovens', second)?.isEncrypted, true)
    await second.stop()
    await revokeCertificates(other, 'ovens')
    const third = await startGateway(settingsFor(other, tlsSettings))
    assert.equal(linkOf('ovens', third), undefined)
    await third.stop()
  })

  test('a link on another machine cannot register the id or the address of another link', async () => {
    const port = ports().tlsPort
    const tls = await certificateFrom(home, 'presses', 'link', ['127.0.0.1', 'fd00::7', 'presses.example'])
    const error = await registrationError({ port, id: 'ovens', tls })
    assert.equal(error?.code, status.PERMISSION_DENIED)
    assert.match(error.details, /certificate is for the asset link presses.*--instance presses/)
    const elsewhere = await registrationError({ port, id: 'presses', host: '127.0.0.2', tls })
    assert.match(elsewhere?.details ?? '', /does not contain the address 127\.0\.0\.2.*--host 127\.0\.0\.2/)
    for (const host of ['fd00:0:0::7', 'Presses.example'])
      assert.equal(await registrationError({ port, id: 'presses', host, tls }), undefined, host)
  })

  test('a link on another machine cannot be replaced by a program on the machine of the gateway', async () => {
    await certificateFrom(home, 'mills', 'link')
    const { registryPort } = gateway
    const error = await until(() => registrationError({ port: registryPort, id: 'mills' }))
    assert.match(error.details, /mills has a certificate, so it must use the TLS port/)
    assert.equal(await registrationError({ port: registryPort, id: 'saws' }), undefined)
  })

  test('a link on another machine sees only its own registration', async () => {
    const tls = await certificateFrom(home, 'drills', 'link')
    await registrationError({ port: ports().tlsPort, id: 'drills', tls })
    await registrationError({ port: gateway.registryPort, id: 'local' })
    const client = tlsClient(`127.0.0.1:${ports().tlsPort}`, tls)
    const { path, requestSerialize, responseDeserialize } = wireMethod(
      linkServices.registry.method.queryRegisteredServices,
      'millwright.connectivitysuite.registry.v1',
    )
    const answer = await new Promise<{ infos: { appInstanceId: string }[] } | undefined>((resolve, reject) =>
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {} as never, (error, value) =>
        error === null ? resolve(value as never) : reject(error),
      ),
    )
    client.close()
    assert.deepEqual(
      answer?.infos.map(({ appInstanceId }) => appInstanceId),
      ['drills'],
    )
  })

  test('a link on another machine is not called if another certificate answers at its address', async () => {
    const [own, impostor] = [
      await certificateFrom(home, 'lathes', 'link'),
      await certificateFrom(home, 'thief', 'link'),
    ]
    const { registry: _, ...unregistered } = { registry: '', logLevel: 'error' as const }
    await using link = await startLink(ovens, { ...unregistered, tls: impostor })
    await registrationError({ port: ports().tlsPort, id: 'lathes', linkPort: link.port, tls: own })
    const isInspected = () => !/not inspected/.test(linkOf('lathes')?.problem ?? 'not inspected')
    const report = await until(() => isInspected() && linkOf('lathes'))
    assert.notEqual(report.state, 'running')
    assert.match(report.problem ?? '', /did not present the certificate with which lathes registered/)
  })

  test('a link on another machine is removed when its certificate is revoked, and cannot register again', async () => {
    const tls = await certificateFrom(home, 'robots', 'link')
    await using _link = await start(tls)
    await until(() => linkOf('robots')?.state === 'running')
    await revokeCertificates(home, 'robots')
    await until(() => linkOf('robots')?.state !== 'running')
    const error = await registrationError({ port: ports().tlsPort, id: 'robots', tls })
    assert.equal(error?.code, status.PERMISSION_DENIED)
    assert.match(error.details, /of robots was revoked or is unknown/)
  })

  test('a link on another machine cannot continue a scan when its certificate is revoked', async () => {
    const endless = defineLink({
      manifest: { id: 'test.links.endless', name: 'Endless', vendor: 'Test', version: '1.0.0', sends: [] },
      async *discover({ signal }) {
        scanning = true
        yield* []
        await once(signal, 'abort')
      },
    })
    let scanning = false
    const tls = await certificateFrom(home, 'endless', 'link')
    const registry = `127.0.0.1:${ports().tlsPort}`
    await using _link = await startLink(endless, { registry, logLevel: 'error', tls })
    await until(() => linkOf('endless')?.state === 'running')
    const job = cloud.offer('discovery', { assetLinkId: 'endless' })
    await until(() => scanning)
    await revokeCertificates(home, 'endless')
    const { state } = await until(() => cloud.endOf(job))
    assert.notEqual(state, 'DONE')
  })

  test('a link on another machine loses its permits when its certificate is revoked, and takes none with the id of another link', async () => {
    const tls = await certificateFrom(home, 'cranes', 'link')
    const client = tlsClient(`127.0.0.1:${ports().tlsPort}`, tls)
    const open = (id: string) => {
      const { path, requestSerialize, responseDeserialize } = wireMethod(linkServices.permits.method.takePermits)
      const metadata = Metadata.fromHttp2Headers({ [linkIdKey]: id })
      const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata)
      const value = { id: 1n, address: '10.0.0.9', protocol: 'p', operation: 'o', kind: permitKindNumbers.datagram }
      stream.write({ message: { case: 'take', value } } as never)
      return stream
    }
    try {
      const [foreign] = (await once(open('ovens'), 'error')) as [ServiceError]
      assert.equal(foreign.code, status.PERMISSION_DENIED)
      const stream = open('cranes')
      await once(stream, 'data')
      const ended = once(stream, 'error')
      await revokeCertificates(home, 'cranes')
      assert.match(((await ended) as [ServiceError])[0].details, /revoked/)
    } finally {
      client.close()
    }
  })
})

describe('the registry with TLS', () => {
  const refusals: [string, () => Promise<ClientTls | undefined>, status, RegExp][] = [
    ['a client without TLS', async () => undefined, status.UNAVAILABLE, /./],
    [
      'a client without a certificate',
      async () => ({ authority: (await certificateFrom(home, 'a', 'link')).authority }),
      status.UNAVAILABLE,
      /./,
    ],
    [
      'a certificate of another gateway',
      async () => {
        const { certificate, key } = await certificateFrom(elsewhere, 'ovens', 'link')
        return { certificate, key, authority: (await certificateFrom(home, 'a', 'link')).authority }
      },
      status.UNAVAILABLE,
      /./,
    ],
    [
      'an expired certificate',
      async () => forgedCertificate(home, { to: new Date(Date.now() - 1_000) }),
      status.UNAVAILABLE,
      /./,
    ],
    [
      'a certificate of an agent',
      () => certificateFrom(home, 'ovens', 'agent'),
      status.PERMISSION_DENIED,
      /has the role agent, but this port requires the role link/,
    ],
    [
      'a certificate without a role',
      async () => forgedCertificate(home, { unit: 'office' }),
      status.PERMISSION_DENIED,
      /has the role unknown/,
    ],
    [
      'a certificate that the gateway did not create',
      async () => forgedCertificate(home),
      status.PERMISSION_DENIED,
      /revoked or is unknown/,
    ],
  ]
  for (const [name, tlsOf, code, details] of refusals)
    test(`the registry with TLS refuses ${name}`, async () => {
      const error = await registrationError({ port: ports().tlsPort, id: 'ovens', tls: await tlsOf() })
      assert.equal(error?.code, code, error?.details)
      assert.match(error.details, details)
    })

  test('the registry with TLS refuses TLS 1.1', async () => {
    const { certificate: cert, key, authority: ca } = await certificateFrom(home, 'a', 'link')
    const options = { cert, key, ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const
    for (const port of Object.values(ports())) {
      const socket = connectTls({ ...options, port, host: '127.0.0.1', checkServerIdentity: () => undefined })
      await assert.rejects(once(socket, 'secureConnect'), { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' })
    }
  })
})

test('the registry without TLS refuses a client with TLS', async () => {
  const tls = await certificateFrom(home, 'a', 'link')
  const error = await registrationError({ port: gateway.registryPort, id: 'a', tls })
  assert.equal(error?.code, status.UNAVAILABLE)
})

describe('a link with a certificate', () => {
  const { getVersionInfo } = linkServices.driverInfo.method
  const callers: [string, () => Promise<ClientTls | undefined>, status][] = [
    ['a caller without TLS', async () => undefined, status.UNAVAILABLE],
    ['another link', () => certificateFrom(home, 'thief', 'link'), status.PERMISSION_DENIED],
    ['an agent', () => certificateFrom(home, 'agent', 'agent'), status.PERMISSION_DENIED],
    [
      'the gateway of another plant',
      async () => {
        const { authority } = await certificateFrom(home, 'a', 'link')
        await certificateFrom(elsewhere, 'a', 'link')
        return { ...forgedCertificate(elsewhere, { unit: 'gateway' }), authority }
      },
      status.UNAVAILABLE,
    ],
  ]
  for (const [name, tlsOf, code] of callers)
    test(`a link with a certificate refuses ${name}`, async () => {
      const tls = await certificateFrom(home, 'ovens', 'link', ['127.0.0.1', 'millwright-gateway'])
      await using link = await startLink(ovens, { logLevel: 'error', tls })
      const method = wireMethod(getVersionInfo)
      const error = await unaryError({ target: link.endpoint, method, request: {}, tls: await tlsOf() })
      assert.equal(error?.code, code, error?.details)
    })

  test('a link with a certificate accepts calls of its gateway', async () => {
    const tls = await certificateFrom(home, 'ovens', 'link', ['127.0.0.1', 'millwright-gateway'])
    await using link = await startLink(ovens, { logLevel: 'error', tls })
    const gatewayTls = forgedCertificate(home, { unit: 'gateway' })
    const method = wireMethod(getVersionInfo)
    assert.equal(await unaryError({ target: link.endpoint, method, request: {}, tls: gatewayTls }), undefined)
  })

  test('a link with a certificate refuses a registry that is not the gateway', async () => {
    const tls = await certificateFrom(home, 'ovens', 'link')
    await using impostor = await startLink(ovens, { logLevel: 'error', tls: await certificateFrom(home, 'b', 'link') })
    let registered = 0
    const onRegistered = () => {
      registered += 1
    }
    const lines: string[] = []
    const write = process.stderr.write
    process.stderr.write = ((line: string) => lines.push(line) > 0) as typeof write
    try {
      const settings = { registry: impostor.endpoint, logLevel: 'warn', tls, onRegistered } as const
      await using _link = await startLink(ovens, settings)
      await until(() => lines.some((line) => line.includes('is not the gateway')))
    } finally {
      process.stderr.write = write
    }
    assert.equal(registered, 0)
  })
})

type Sent = { tls?: ClientTls; path?: string; headers?: Record<string, string> }

async function send({ tls, path = '/gatekeeper/v1/health', headers = {} }: Sent) {
  const options = {
    ...{ host: '127.0.0.1', port: ports().agentTlsPort, path, headers },
    ...(tls === undefined ? {} : { cert: tls.certificate, key: tls.key, ca: tls.authority }),
  }
  const request = tls === undefined ? httpRequest(options) : httpsRequest(options)
  request.end()
  const [response] = await once(request, 'response')
  return { status: response.statusCode as number, body: await text(response) }
}

describe('an agent on another machine', () => {
  test('an agent on another machine reaches the platform with its certificate, but not the status of the gateway', async () => {
    const tls = await certificateFrom(home, 'agent', 'agent', [])
    const before = cloud.requests.length
    await send({ tls })
    const forwarded = cloud.requests.slice(before).find(({ url }) => url === '/gatekeeper/v1/health')
    assert.match(String(forwarded?.headers.authorization), /^Bearer token-/)
    assert.equal((await send({ tls, path: '/gateway/status' })).status, 404)
    assert.equal((await send({ tls, headers: { origin: 'https://page.example' } })).status, 403)
  })

  test('an agent on another machine cannot use the certificate of a link, or a certificate that the gateway did not create', async () => {
    const requests = cloud.requests.filter(({ url }) => url === '/gatekeeper/v1/health').length
    const link = await send({ tls: await certificateFrom(home, 'ovens', 'link') })
    assert.equal(link.status, 403)
    assert.match(link.body, /has the role link, but this port requires the role agent/)
    assert.equal((await send({ tls: forgedCertificate(home, { unit: 'agent' }) })).status, 403)
    assert.equal((await send({ tls: forgedCertificate(home, { unit: 'gateway' }) })).status, 403)
    const { authority } = await certificateFrom(home, 'a', 'agent', [])
    const { certificate, key } = await certificateFrom(elsewhere, 'a', 'agent', [])
    const expired = forgedCertificate(home, { unit: 'agent', to: new Date(Date.now() - 1_000) })
    for (const tls of [{ authority }, { certificate, key, authority }, expired, undefined])
      await assert.rejects(send(tls === undefined ? {} : { tls }))
    assert.equal(cloud.requests.filter(({ url }) => url === '/gatekeeper/v1/health').length, requests)
  })

  test('an agent on another machine loses its open event stream when its certificate is revoked', async () => {
    const tls = await certificateFrom(home, 'leaver', 'agent', [])
    const path = '/gatekeeper/v1/jobs/events'
    const place = { host: '127.0.0.1', port: ports().agentTlsPort, path }
    const request = httpsRequest({ ...place, cert: tls.certificate, key: tls.key, ca: tls.authority, agent: false })
    request.end()
    const [response] = await once(request, 'response')
    assert.equal(response.statusCode, 200)
    response.resume()
    // The stream has no end, so only the revocation can close it.
    const closed = once(response, 'error')
    await revokeCertificates(home, tls.issued.serial.toLowerCase())
    assert.equal((await closed)[0].code, 'ECONNRESET')
    const again = await send({ tls })
    assert.equal(again.status, 403)
    assert.match(again.body, /revoked or is unknown/)
  })

  test('an agent on another machine is disconnected without TLS', async () => {
    const socket = connectTcp(ports().agentTlsPort, '127.0.0.1')
    await once(socket, 'connect')
    socket.write('GET / HTTP/1.1\r\n\r\n')
    await once(socket, 'close')
  })
})

test('the files of the authority and of the certificates are readable only by their owner', async () => {
  const { issued } = await certificateFrom(home, 'a', 'link')
  const files = ['tls/authority.pem', `tls/certificates/${issued.serial}.json`]
  for (const file of files) assert.equal(statSync(join(home, file)).mode & 0o777, 0o600, file)
  assert.doesNotMatch(JSON.stringify(await listCertificates(home)), /PRIVATE/)
  assert.equal(findCertificate(home, '../../authority'), undefined)
})

test('two programs that create the authority at the same time use the same one', async () => {
  const other = temporaryFolder()
  const created = await Promise.all(['a', 'b', 'c'].map((name) => certificateFrom(other, name, 'link')))
  assert.equal(new Set(created.map(({ authority }) => authority)).size, 1)
})

test('a registry without TLS on all addresses is logged as a risk, with the setting to use', async () => {
  const lines: string[] = []
  const other = temporaryFolder()
  cloud.configure(other)
  const log = createLog({ level: 'warn', to: { write: (line) => void lines.push(line) } })
  const open = await startGateway(settingsFor(other, { registryHost: '0.0.0.0' }), { log })
  await open.stop()
  assert.ok(lines.some((line) => /without encryption.*MILLWRIGHT_GATEWAY_TLS_PORT/.test(line)))
  assert.equal(open.tlsPort, undefined)
})
