import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { freePort } from '@millwright/api/port-testing.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { PairFolder, serverCertificate, testAuthority, trustInProcess } from '../../platform/tls/testing.ts'
import { connectGateway, createPlant, createSession, openStream, until } from './testing.ts'

/** These tests start reverse proxies with the configurations in the guide. Only names, ports and paths are replaced. */

const guide = readFileSync(new URL('../../../docs/how-to/use-tls.md', import.meta.url), 'utf8')

function blockOf(language: string): string {
  return new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)?.[1] ?? assert.fail(language)
}

type Ports = { platform: number; http: number; https: number }
type ProxyProgram = {
  name: string
  versionArguments: string[]
  /** Writes the configuration to the folder. Returns the arguments of the program. */
  configure(configuration: string, options: { ports: Ports; folder: PairFolder }): string[]
}

/** Replaces each text, which must occur in the configuration. */
function replaced(configuration: string, replacements: Record<string, string>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => {
    assert.ok(result.includes(from), `the guide does not contain ${from}`)
    return result.replaceAll(from, to)
  }, configuration)
}

const names = { 'millwright.example.com': 'localhost', 'remote.example.com': 'remote.localhost' }

const programs: ProxyProgram[] = [
  {
    name: 'nginx',
    versionArguments: ['-v'],
    configure(configuration, { ports, folder }) {
      const site = replaced(configuration, {
        '127.0.0.1:8080': `127.0.0.1:${ports.platform}`,
        'listen 80;': `listen 127.0.0.1:${ports.http};`,
        'listen 443 ssl;': `listen 127.0.0.1:${ports.https} ssl;`,
        '/etc/ssl/millwright/fullchain.pem': folder.certFile,
        '/etc/ssl/millwright/key.pem': folder.keyFile,
        ...names,
      })
      writeFileSync(join(folder.path, 'site.conf'), site)
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((kind) => `${kind}_temp_path ${join(folder.path, kind)};`)
        .join(' ')
      const main = `daemon off; pid ${join(folder.path, 'pid')}; error_log stderr; events {}
        http { access_log off; ${temporary} include ${join(folder.path, 'site.conf')}; }`
      writeFileSync(join(folder.path, 'nginx.conf'), main)
      return ['-p', folder.path, '-c', join(folder.path, 'nginx.conf')]
    },
  },
  {
    name: 'caddy',
    versionArguments: ['version'],
    configure(configuration, { ports, folder }) {
      const site = replaced(configuration, {
        '127.0.0.1:8080': `127.0.0.1:${ports.platform}`,
        '/etc/ssl/millwright/fullchain.pem': folder.certFile,
        '/etc/ssl/millwright/key.pem': folder.keyFile,
        ...names,
      })
      const global = `{
        admin off
        http_port ${ports.http}
        https_port ${ports.https}
        default_bind 127.0.0.1
        storage file_system ${folder.path}
      }\n`
      writeFileSync(join(folder.path, 'Caddyfile'), global + site)
      return ['run', '--adapter', 'caddyfile', '--config', join(folder.path, 'Caddyfile')]
    },
  },
]

for (const { name, versionArguments, configure } of programs) {
  const isInstalled = spawnSync(name, versionArguments).status === 0
  const skip = isInstalled ? false : `${name} is not installed: apt-get install ${name}`

  describe(`a platform behind ${name}`, { skip }, () => {
    const authority = testAuthority()
    const hosts = ['localhost', '*.remote.localhost']
    const folder = new PairFolder(serverCertificate(authority, { hosts }))
    let trust: Disposable
    let proxy: ChildProcess
    let hub: TestHub
    let admin: TestCaller
    let ports: Ports
    let url: string

    before(async () => {
      trust = trustInProcess(authority.certificate)
      hub = await testHub({
        trustedProxies: ['127.0.0.1'],
        remoteAccessHost: '*.remote.localhost',
        arrangement: 'one process',
      })
      admin = await hub.as('administrator')
      const platform = Number(new URL(await hub.listen()).port)
      ports = { platform, http: await freePort(), https: await freePort() }
      url = `https://localhost:${ports.https}`
      mkdirSync(join(folder.path, 'home'))
      proxy = spawn(name, configure(blockOf(name === 'nginx' ? 'nginx' : 'caddyfile'), { ports, folder }), {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, HOME: join(folder.path, 'home') },
      })
      let errors = ''
      proxy.stderr?.on('data', (chunk) => {
        errors += chunk
      })
      proxy.on('exit', (code) => {
        if (code) errors += `exit code ${code}`
      })
      await until(async () => {
        assert.ok(!/exit code/.test(errors), errors)
        return (await send({ path: '/healthz' }).catch(() => undefined))?.status === 200
      })
    })

    after(async () => {
      proxy.kill()
      await once(proxy, 'exit')
      await hub[Symbol.asyncDispose]()
      trust[Symbol.dispose]()
      folder[Symbol.dispose]()
    })

    type Sent = {
      path: string
      host?: string
      method?: string
      headers?: Record<string, string>
      body?: Buffer
      from?: string
    }

    async function open({ path, host = 'localhost', method = 'GET', ...rest }: Sent) {
      const { headers = {}, body, from: localAddress } = rest
      const sent = httpsRequest({
        host: '127.0.0.1',
        port: ports.https,
        servername: host,
        path,
        method,
        headers: { host, ...headers },
        agent: false,
        ...(localAddress === undefined ? {} : { localAddress }),
      })
      sent.end(body)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return { response, close: () => sent.destroy() }
    }

    async function send(sent: Sent) {
      const { response } = await open(sent)
      return { status: response.statusCode, headers: response.headers, body: await text(response) }
    }

    const bearer = () => ({ authorization: `Bearer ${admin.token}` })

    test(`${name} redirects from http to the address of the platform`, async () => {
      const headers = { host: 'localhost' }
      const sent = httpRequest({ host: '127.0.0.1', port: ports.http, path: '/console?x=1', headers, agent: false })
      const [response] = (await once(sent.end(), 'response')) as [IncomingMessage]
      response.resume()
      assert.equal(response.statusCode, 308)
      assert.match(response.headers.location ?? '', /^https:\/\/localhost(?::\d+)?\/console\?x=1$/)
    })

    test(`${name} passes the address of the client, and ignores an address that the client sends`, async () => {
      const { status, body } = await send({
        path: '/authorization/v1/access-groups',
        method: 'POST',
        headers: { ...bearer(), 'content-type': 'application/json', 'x-forwarded-for': '6.6.6.6' },
        body: Buffer.from(JSON.stringify({ data: { name: `behind ${name}` } })),
        from: '127.0.0.7',
      })
      assert.equal(status, 201, body)
      const { data } = await admin.audit.listEntries({ query: { action: 'authorization.createAccessGroup' } })
      assert.deepEqual(
        data.map(({ address }) => address),
        ['127.0.0.7'],
      )
    })

    test(`${name} passes events without delay`, async () => {
      const headers = { ...bearer(), accept: 'text/event-stream' }
      const { response, close } = await open({ path: '/events/v1/stream', headers })
      assert.equal(response.statusCode, 200)
      let received = ''
      response.on('data', (chunk) => {
        received += chunk
      })
      await admin.authorization.createAccessGroup({ body: { data: { name: `event behind ${name}` } } })
      await until(() => received.includes('data:'))
      close()
    })

    test(`${name} passes large uploads`, async () => {
      const bytes = randomBytes(20 * 1024 * 1024)
      const { data } = await admin.updates.createArtefact({
        body: {
          data: {
            name: 'Firmware',
            manufacturer: 'Example',
            products: ['PUMP-1'],
            version: '1.0.0',
            kind: 'firmware',
            sha256: Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex'),
            size: bytes.length,
          },
        },
      })
      const { status, body } = await send({
        path: `/updates/v1/artefacts/${data.id}/content`,
        method: 'PUT',
        headers: { ...bearer(), 'content-type': 'application/octet-stream', 'content-length': String(bytes.length) },
        body: bytes,
      })
      assert.equal(status, 200, body)
    })

    test(`${name} passes the tunnel of a gateway and the streams of remote sessions`, async () => {
      const { gateway, assetId } = await createPlant(hub, admin)
      await using _connected = await connectGateway(hub, gateway, { url })
      const { id } = await createSession(admin, { assetId })
      using client = await openStream(id, { url, token: admin.token })
      const block = Buffer.alloc(1024 * 1024, 'z')
      client.send(block)
      await until(() => client.bytes.length === block.length)
    })

    test(`${name} passes the host names of web pages of devices`, async () => {
      const path = '/healthz'
      const { status, body } = await send({ path, host: '0198f0c2-0000-7000-8000-000000000001.remote.localhost' })
      assert.notEqual(status, 200)
      assert.match(body, /<html/)
    })
  })
}
