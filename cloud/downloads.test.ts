import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { packageName } from './platform/downloads/gateway-package.ts'
import { limits } from './platform/limits.ts'
import { type TestHub, testHub } from './platform/testing/hub.ts'
import { productVersion } from './platform/version.ts'

const path = `/downloads/${packageName}`
const installer = '/downloads/install-gateway.sh'
/** Larger than the buffers of a connection, so that a client that does not read blocks the download. */
const content = Buffer.alloc(32 * 1024 * 1024, 'gateway')
const sha256 = createHash('sha256').update(content).digest('hex')

describe('a platform without the gateway package', () => {
  test('returns 404 with the command that builds the package', async () => {
    await using hub = await testHub()
    const admin = await hub.as('administrator')
    for (const method of ['GET', 'HEAD'])
      for (const missing of [path, `${path}.sha256`, installer])
        assert.equal((await hub.request({ method, path: missing })).status, 404, `${method} ${missing}`)
    const { body, headers } = await hub.request({ method: 'GET', path })
    assert.equal(headers.get('content-type'), 'application/problem+json')
    const { code, detail } = body as { code: string; detail: string }
    assert.equal(code, 'package_not_built')
    assert.match(detail, /run "npm run package" in the folder of the platform/)
    await assert.rejects(admin.onboarding.getGatewayPackage({}), { code: 'package_not_built', status: 404 })
  })
})

describe('a platform with the gateway package', () => {
  let folder: string
  let hub: TestHub

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millwright-package-'))
    await writeFile(join(folder, packageName), content)
    await writeFile(join(folder, `${packageName}.sha256`), `${sha256}  ${packageName}\n`)
    hub = await testHub({ packageFolder: folder })
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  const get = (from: string, headers: Record<string, string> = {}, method = 'GET') =>
    hub.request({ method, path: from, headers })

  test('sends the archive with its length, its ETag and no sniffing, and answers HEAD with the same headers', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, bytes } = await get(path, {}, method)
      assert.equal(status, 200)
      assert.equal(headers.get('content-length'), String(content.length))
      assert.equal(headers.get('content-type'), 'application/gzip')
      assert.equal(headers.get('etag'), `"${sha256}"`)
      assert.equal(headers.get('accept-ranges'), 'bytes')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.ok(bytes.equals(method === 'GET' ? content : Buffer.alloc(0)), method)
    }
    assert.equal((await get(path, { 'if-none-match': `"${sha256}"` })).status, 304)
  })

  test('sends ranges of the archive, so that a client can continue a download', async () => {
    const part = await get(path, { range: 'bytes=100-199' })
    assert.equal(part.status, 206)
    assert.equal(part.headers.get('content-range'), `bytes 100-199/${content.length}`)
    assert.ok(part.bytes.equals(content.subarray(100, 200)))
    const rest = await get(path, { range: `bytes=${content.length - 5}-`, 'if-range': `"${sha256}"` })
    assert.ok(rest.bytes.equals(content.subarray(-5)))
    const changed = await get(path, { range: 'bytes=0-9', 'if-range': '"other"' })
    assert.equal(changed.status, 200, 'the whole content, because the client has another version')
    const outside = await get(path, { range: `bytes=${content.length}-` })
    assert.equal(outside.status, 416)
    assert.equal(outside.headers.get('content-range'), `bytes */${content.length}`)
  })

  test('sends the SHA-256 that the packer wrote, and an installer that contains it', async () => {
    assert.equal((await get(`${path}.sha256`)).text, `${sha256}  ${packageName}\n`)
    const { text } = await get(installer)
    assert.match(text, /^#!\/bin\/sh\n/)
    assert.ok(text.includes(`version='${productVersion}'\nsha256='${sha256}'\n`))
    assert.ok(!/@[A-Z\d]+@/.test(text.slice(0, text.indexOf('usage()'))), 'all values are filled in')
  })

  test('serves no other file of the folder, and no file outside', async () => {
    await writeFile(join(folder, 'secret.txt'), 'secret')
    const others = [
      '/downloads/',
      '/downloads/secret.txt',
      '/downloads/../package.json',
      '/downloads/..%2fpackage.json',
      '/downloads/%2e%2e/package.json',
      `/downloads/.%2f${packageName}/../secret.txt`,
      path.replace(productVersion, '0.0.1'),
      `${path}%00`,
    ]
    for (const other of others) {
      const { status, text } = await get(other)
      assert.ok(status === 404 || status === 400, `${other}: ${status}`)
      assert.ok(!text.includes('secret') || other.includes('secret'), other)
    }
    assert.equal((await get(path, {}, 'POST')).status, 405)
  })

  test('returns the command that runs the installer only if it has the expected SHA-256', async () => {
    const admin = await hub.as('administrator')
    const { data } = await admin.onboarding.getGatewayPackage({})
    const { baseUrl } = hub.context.settings
    assert.deepEqual(
      { ...data, command: '' },
      { version: productVersion, url: `${baseUrl}${path}`, bytes: content.length, sha256, command: '' },
    )
    const script = createHash('sha256')
      .update((await get(installer)).bytes)
      .digest('hex')
    const url = `'${baseUrl}${installer}'`
    assert.equal(
      data.command,
      `f=$(mktemp) && { curl -fsS -o "$f" ${url} || wget -q -O "$f" ${url}; } && echo "${script}  $f" | sha256sum -c - && sh "$f" --config gateway-config.json`,
    )
    const viewer = await hub.as('viewer')
    await assert.rejects(viewer.onboarding.getGatewayPackage({}), { code: 'forbidden' })
  })

  test('refuses further downloads of an address while its limit is used by clients that do not read', async () => {
    const url = new URL(path, await hub.listen())
    const stuck = await Promise.all(
      Array.from({ length: limits.publicDownloadsPerAddress }, async () => {
        const socket = connect(Number(url.port), url.hostname)
        socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
        await once(socket, 'readable')
        return socket
      }),
    )
    const refused = await fetch(url)
    assert.equal(refused.status, 503)
    assert.equal(((await refused.json()) as { code: string }).code, 'overloaded')
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    for (const socket of stuck) socket.destroy()
    const isFree = async () => (await fetch(url, { headers: { range: 'bytes=0-0' } })).ok
    for (let tries = 0; !(await isFree()); tries++) assert.ok(tries < 1_000, 'closed downloads are still counted')
  })

  test('counts all addresses of an IPv6 network as one address', async () => {
    await using proxied = await testHub({ packageFolder: folder, trustedProxies: ['127.0.0.0/8'] })
    const url = new URL(path, await proxied.listen())
    const stuck = await Promise.all(
      Array.from({ length: limits.publicDownloadsPerAddress }, async (_, index) => {
        const socket = connect(Number(url.port), url.hostname)
        socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 2001:db8::${index + 1}\r\n\r\n`)
        await once(socket, 'readable')
        return socket
      }),
    )
    const statusFrom = async (address: string) => {
      const { status, body } = await fetch(url, { headers: { 'x-forwarded-for': address, range: 'bytes=0-0' } })
      await body?.cancel()
      return status
    }
    assert.equal(await statusFrom('2001:db8::ffff'), 503)
    assert.equal(await statusFrom('2001:db8:0:1::1'), 206)
    for (const socket of stuck) socket.destroy()
  })
})
