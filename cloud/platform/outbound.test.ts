import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { Problem } from '@millwright/api/problem.ts'
import { artefactSettings, readCloudConfiguration } from '../settings.ts'
import { Outbound } from './outbound.ts'
import { canonicalAddress, outboundEntry } from './outbound-entry.ts'
import { serverCertificate, testAuthority, trustInProcess } from './tls/testing.ts'

const isRefused = (error: unknown) => error instanceof Problem && error.code === 'outbound_not_allowed'

function refuses(allow: string[], url: string): void {
  assert.throws(() => new Outbound({ allow }).require(url), isRefused, `${url} with ${allow}`)
}

function permits(allow: string[], url: string): void {
  assert.doesNotThrow(() => new Outbound({ allow }).require(url), `${url} with ${allow}`)
}

function resolvingTo(...addresses: string[]): () => Promise<LookupAddress[]> {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

describe('the list of outbound connections', () => {
  test('refuses every URL when the list is empty, and names the setting, the host and a value', () => {
    assert.throws(() => new Outbound({ allow: [] }).require('https://login.example.com/realm'), {
      code: 'outbound_not_allowed',
      message:
        'The installation does not allow connections to login.example.com:443. Plant IT can add login.example.com:443 to the list in MILLWRIGHT_OUTBOUND_ALLOW',
    })
  })

  test('permits a named host, with any port or with the named port only', () => {
    permits(['login.example.com'], 'https://login.example.com:8443/')
    permits(['login.example.com:8443'], 'https://login.example.com:8443/')
    refuses(['login.example.com:8443'], 'https://login.example.com/')
    refuses(['login.example.com'], 'https://example.com/')
    refuses(['login.example.com'], 'https://login.example.com.attacker.example/')
    refuses(['login.example.com'], 'https://attackerlogin.example.com/')
  })

  test('permits hosts below a wildcard domain, but not the domain and no similar name', () => {
    permits(['*.example.com'], 'https://a.example.com/')
    permits(['*.example.com'], 'https://a.b.example.com/')
    refuses(['*.example.com'], 'https://example.com/')
    refuses(['*.example.com'], 'https://badexample.com/')
  })

  test('treats upper case, a trailing dot and international names as the same host', () => {
    permits(['Login.Example.com'], 'https://LOGIN.example.COM/')
    permits(['login.example.com'], 'https://login.example.com./')
    permits(['münchen.example'], 'https://xn--mnchen-3ya.example/')
    permits(['xn--mnchen-3ya.example'], 'https://MÜNCHEN.example/')
    // The first letter is Cyrillic, so this is another name.
    refuses(['login.example.com'], 'https://login.ехample.com/')
  })

  test('recognizes the loopback address in every numeric form', () => {
    for (const host of ['2130706433', '0x7f000001', '017700000001', '127.1', '0x7f.1', '0177.0.0.1', '127.0.0.1.'])
      refuses(['login.example.com', '10.0.0.0/8'], `https://${host}/`)
    for (const host of ['[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::]'])
      refuses(['login.example.com', '10.0.0.0/8'], `https://${host}/`)
    permits(['127.0.0.1'], 'https://2130706433/')
    permits(['127.0.0.1'], 'https://[::ffff:7f00:1]/')
    permits(['[::1]:8443'], 'https://[0:0:0:0:0:0:0:1]:8443/')
  })

  test('refuses user names in a URL and other schemes', () => {
    refuses(['login.example.com'], 'https://login.example.com@attacker.example/')
    refuses(['login.example.com'], 'https://user@login.example.com/')
    refuses(['login.example.com'], 'ftp://login.example.com/')
    refuses(['login.example.com'], 'file:///etc/passwd')
  })

  test('permits http only for an exact host, an exact address and loopback', () => {
    permits(['login.example.com'], 'http://login.example.com/')
    permits(['10.1.2.3'], 'http://10.1.2.3/')
    permits(['127.0.0.0/8'], 'http://127.0.0.1/')
    refuses(['*.example.com'], 'http://login.example.com/')
    refuses(['10.0.0.0/8'], 'http://10.1.2.3/')
    permits(['10.0.0.0/8'], 'https://10.1.2.3/')
  })

  test('accepts only valid values in the setting', () => {
    const valid = [
      'a.example',
      '*.a.example:443',
      '10.0.0.0/8',
      '10.0.0.0/8:443',
      '::1',
      '[::1]',
      '[::1]:80',
      'fd00::/8',
    ]
    for (const text of valid) assert.ok(outboundEntry(text) !== undefined, text)
    const invalid = ['', '*', '*.', 'a b', 'https://a.example', 'a.example/path', '10.0.0.0/33', '2130706433', '0x7f.1']
    for (const text of [...invalid, 'a.*.example', 'a.example:0', 'a.example:65536', '[a.example]', 'user@a.example'])
      assert.equal(outboundEntry(text), undefined, text)
    assert.throws(() => readCloudConfiguration({ MILLWRIGHT_OUTBOUND_ALLOW: 'https://a.example' }), {
      message: /MILLWRIGHT_OUTBOUND_ALLOW must be a list of values such as login\.example\.com/,
    })
  })

  test('reduces IPv4 addresses inside IPv6 addresses to IPv4', () => {
    assert.equal(canonicalAddress('::ffff:127.0.0.1'), '127.0.0.1')
    assert.equal(canonicalAddress('64:ff9b::a9fe:a9fe'), '169.254.169.254')
    assert.equal(canonicalAddress('fe80::1%eth0'), 'fe80::1')
  })
})

describe('an outbound connection', () => {
  let server: Server
  let port: number
  let answer: RequestListener = (_, response) => response.end('hello')
  let requests = 0

  before(async () => {
    server = createServer((request, response) => {
      requests += 1
      answer(request, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })

  after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  /** Sends a request with the given list, and returns the text of the response. */
  async function read(
    options: ConstructorParameters<typeof Outbound>[0],
    { url = `http://localhost:${port}/`, ...init }: Parameters<Outbound['fetch']>[1] & { url?: string } = {},
  ): Promise<string> {
    const outbound = new Outbound(options)
    try {
      return await (await outbound.fetch(url, init)).text()
    } finally {
      await outbound.close()
    }
  }

  test('reaches a permitted address, and localhost by its name', async () => {
    assert.equal(await read({ allow: ['127.0.0.1'] }, { url: `http://127.0.0.1:${port}/` }), 'hello')
    assert.equal(await read({ allow: ['localhost'], lookup: resolvingTo('127.0.0.1') }), 'hello')
    assert.equal(await read({ allow: ['127.0.0.0/8'], lookup: resolvingTo('127.0.0.1') }), 'hello')
  })

  test('refuses a named host that resolves to a loopback, link-local, unspecified or multicast address', async () => {
    const before = requests
    const special = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '0.0.0.0', '::', '169.254.169.254', 'fe80::1']
    for (const address of [...special, '224.0.0.1', 'ff02::1', '255.255.255.255', '64:ff9b::7f00:1']) {
      const lookup = resolvingTo(address)
      const url = `http://login.example.com:${port}/`
      await assert.rejects(read({ allow: ['login.example.com'], lookup }, { url }), isRefused, address)
    }
    assert.equal(requests, before)
  })

  test('refuses a host if only some of its addresses are permitted', async () => {
    const lookup = resolvingTo('10.1.2.3', '127.0.0.1')
    const url = `https://login.example.com:${port}/`
    await assert.rejects(read({ allow: ['login.example.com'], lookup }, { url }), isRefused)
    await assert.rejects(read({ allow: ['10.0.0.0/8'], lookup }, { url }), isRefused)
    await assert.rejects(read({ allow: ['10.0.0.0/8'], lookup: resolvingTo() }, { url }), isRefused)
  })

  test('resolves a name once for a connection, so that a second answer of the name server has no effect', async () => {
    const answers = ['127.0.0.1', '127.0.0.99']
    let lookups = 0
    const lookup = async () => [{ address: answers[lookups++] ?? '', family: 4 }]
    assert.equal(await read({ allow: ['127.0.0.1'], lookup }, { url: `http://rebind.example:${port}/` }), 'hello')
    assert.equal(lookups, 1)
  })

  test('resolves a name once for connections that open at the same time', async () => {
    let lookups = 0
    const lookup = async () => {
      lookups += 1
      await turn()
      return [{ address: '127.0.0.1', family: 4 }]
    }
    const outbound = new Outbound({ allow: ['127.0.0.1'], lookup })
    try {
      const texts = Array.from({ length: 8 }, async () => (await outbound.fetch(`http://cmms.example:${port}/`)).text())
      assert.deepEqual(await Promise.all(texts), Array(8).fill('hello'))
      assert.equal(lookups, 1)
    } finally {
      await outbound.close()
    }
  })

  test('checks the addresses again for each connection', async () => {
    const answers = ['127.0.0.1', '127.0.0.2']
    const lookup = async () => [{ address: answers.shift() ?? '', family: 4 }]
    const outbound = new Outbound({ allow: ['127.0.0.1'], lookup })
    answer = (_, response) => response.setHeader('connection', 'close').end('once')
    try {
      const url = `http://rebind.example:${port}/`
      assert.equal(await (await outbound.fetch(url)).text(), 'once')
      await assert.rejects(outbound.fetch(url), isRefused)
    } finally {
      answer = (_, response) => response.end('hello')
      await outbound.close()
    }
  })

  test('resolves a name that is not in the list before it is stored', async () => {
    const check = (allow: string[], address?: string) => {
      const lookup = address === undefined ? async () => Promise.reject(new Error('unknown')) : resolvingTo(address)
      return new Outbound({ allow, lookup }).check('https://cmms.example.com/')
    }
    await check(['10.0.0.0/8'], '10.1.2.3')
    await assert.rejects(check(['10.0.0.0/8'], '11.1.2.3'), isRefused)
    await assert.rejects(check(['10.0.0.0/8']), isRefused)
    await assert.rejects(check([], '10.1.2.3'), isRefused)
    await check(['cmms.example.com'])
  })

  test('does not follow redirects', async () => {
    answer = (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()
    const outbound = new Outbound({ allow: ['127.0.0.1'] })
    const before = requests
    try {
      const response = await outbound.fetch(`http://127.0.0.1:${port}/`)
      assert.equal(response.status, 302)
      assert.equal(requests, before + 1)
    } finally {
      answer = (_, response) => response.end('hello')
      await outbound.close()
    }
  })

  test('ignores proxies of the environment', async () => {
    const former = process.env.HTTP_PROXY
    process.env.HTTP_PROXY = 'http://127.0.0.1:9'
    try {
      assert.equal(await read({ allow: ['127.0.0.1'] }, { url: `http://127.0.0.1:${port}/` }), 'hello')
    } finally {
      if (former === undefined) delete process.env.HTTP_PROXY
      else process.env.HTTP_PROXY = former
    }
  })

  test('stops reading a response that is too large, endless or compressed', async () => {
    const allow = ['127.0.0.1']
    const url = `http://127.0.0.1:${port}/`
    const tooLarge = { message: 'The response is larger than 1000 bytes' }
    try {
      answer = (_, response) => response.end('x'.repeat(1001))
      await assert.rejects(read({ allow }, { url, maxBytes: 1000 }), tooLarge)
      answer = (_, response) => {
        const write = () => {
          while (!response.destroyed && response.write('x'.repeat(100_000)));
        }
        response.on('drain', write)
        write()
      }
      await assert.rejects(read({ allow }, { url, maxBytes: 1000 }), tooLarge)
      await assert.rejects(read({ allow }, { url }), { message: 'The response is larger than 1048576 bytes' })
      const compressed = gzipSync(Buffer.alloc(5_000_000))
      answer = (_, response) => response.setHeader('content-encoding', 'gzip').end(compressed)
      await assert.rejects(read({ allow }, { url, maxBytes: 1000 }), tooLarge)
    } finally {
      answer = (_, response) => response.end('hello')
    }
  })

  test('stops waiting for a server that does not respond, or whose response does not end', async () => {
    const url = `http://127.0.0.1:${port}/`
    const late = { message: `127.0.0.1:${port} did not respond within 200 ms` }
    try {
      answer = () => {}
      await assert.rejects(read({ allow: ['127.0.0.1'] }, { url, timeoutMs: 200 }), late)
      answer = (_, response) => response.write('x')
      await assert.rejects(read({ allow: ['127.0.0.1'] }, { url, timeoutMs: 200 }), late)
    } finally {
      answer = (_, response) => response.end('hello')
    }
  })

  test('sends the body and the headers of a request', async () => {
    answer = async (request, response) => {
      const chunks = await Array.fromAsync(request)
      response.end(`${request.method} ${request.headers['content-type']} ${Buffer.concat(chunks)}`)
    }
    try {
      const body = new URLSearchParams({ grant_type: 'authorization_code' })
      const init = { url: `http://127.0.0.1:${port}/`, method: 'POST', headers: new Headers(), body }
      assert.equal(
        await read({ allow: ['127.0.0.1'] }, init),
        'POST application/x-www-form-urlencoded;charset=UTF-8 grant_type=authorization_code',
      )
    } finally {
      answer = (_, response) => response.end('hello')
    }
  })
})

test('checks the certificate of the name, not of the address', async () => {
  const authority = testAuthority()
  const { certificate: cert, key } = serverCertificate(authority, { hosts: ['login.example.com'] })
  const server = createHttpsServer({ cert, key }, (_, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const outbound = new Outbound({ allow: ['127.0.0.1'], lookup: resolvingTo('127.0.0.1') })
  try {
    const read = async (host: string) => (await outbound.fetch(`https://${host}:${port}/`)).text()
    await assert.rejects(read('login.example.com'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
    using _trust = trustInProcess(authority.certificate)
    assert.equal(await read('login.example.com'), 'hello')
    await assert.rejects(read('other.example.com'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  } finally {
    await outbound.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

describe('a connection to an MQTT broker', () => {
  const limit = () => AbortSignal.timeout(10_000)

  test('follows the rules of the list, with the default ports of MQTT', async () => {
    const refusal = async (allow: string[], url: string) => {
      try {
        await new Outbound({ allow }).checkBroker(url)
        return undefined
      } catch (error) {
        assert.ok(isRefused(error), String(error))
        return (error as Problem).message
      }
    }
    assert.equal(await refusal(['broker.example.com:8883'], 'mqtts://Broker.Example.com'), undefined)
    assert.equal(await refusal(['broker.example.com:1883'], 'mqtt://broker.example.com'), undefined)
    assert.equal(await refusal(['broker.example.com:443'], 'mqtts://broker.example.com:443/'), undefined)
    assert.equal(await refusal(['127.0.0.1'], 'mqtt://2130706433'), undefined)
    assert.equal(await refusal(['xn--mnchen-3ya.example'], 'mqtts://münchen.example'), undefined)
    assert.match(
      (await refusal(['broker.example.com:443'], 'mqtts://broker.example.com')) ?? '',
      /broker\.example\.com:8883/,
    )
    assert.match(
      (await refusal(['*.example.com'], 'mqtt://broker.example.com')) ?? '',
      /allows only mqtts .* Use mqtts/,
    )
    assert.match((await refusal(['10.0.0.0/8'], 'mqtt://10.1.2.3')) ?? '', /allows only mqtts/)
    for (const url of ['mqtt://0x7f.1', 'mqtts://[::ffff:127.0.0.1]', 'mqtts://localhost'])
      assert.match((await refusal(['broker.example.com'], url)) ?? '', /MILLWRIGHT_OUTBOUND_ALLOW/)
    assert.match((await refusal(['broker.example.com'], 'https://broker.example.com')) ?? '', /starts with mqtts/)
    assert.match(
      (await refusal(['broker.example.com'], 'mqtts://user:secret@broker.example.com')) ?? '',
      /^(?!.*secret).*userName/,
    )
    for (const url of [
      'mqtts://broker.example.com/path',
      'mqtts://broker.example.com?a=b',
      'mqtts://broker.example.com#c',
    ])
      assert.match((await refusal(['broker.example.com'], url)) ?? '', /only the host and the port/)
    for (const url of [
      'mqtts:broker.example.com',
      'mqtts:///broker.example.com',
      'mqtts://a%2Fb',
      'mqtts://a b',
      'mqtts://',
    ])
      assert.match((await refusal(['broker.example.com'], url)) ?? '', /no valid host/, url)
  })

  test('uses the checked addresses, and no second answer of the name server', async () => {
    const server = createTcpServer((socket) => socket.end('hello')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const answers = ['127.0.0.1', '127.0.0.2']
    const lookup = async () => [{ address: answers.shift() ?? '', family: 4 }]
    const outbound = new Outbound({ allow: ['127.0.0.1'], lookup })
    const options = { certificateAuthority: null, signal: limit() }
    try {
      const socket = await outbound.connectBroker(`mqtt://rebind.example:${port}`, options)
      assert.equal(Buffer.concat(await Array.fromAsync(socket)).toString(), 'hello')
      await assert.rejects(outbound.connectBroker(`mqtt://rebind.example:${port}`, options), isRefused)
    } finally {
      await outbound.close()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  test('checks the name in the certificate, with the private authority instead of the public ones', async () => {
    const authority = testAuthority()
    const { certificate: cert, key } = serverCertificate(authority, { hosts: ['broker.example.com'] })
    const names: (string | false | null)[] = []
    const server = createTlsServer({ cert, key }, (socket) => {
      names.push(socket.servername)
      socket.end('hello')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const outbound = new Outbound({ allow: ['127.0.0.1'], lookup: resolvingTo('127.0.0.1') })
    const read = async (host: string, certificateAuthority: string | null) => {
      const options = { certificateAuthority, signal: limit() }
      const socket = await outbound.connectBroker(`mqtts://${host}:${port}`, options)
      return Buffer.concat(await Array.fromAsync(socket)).toString()
    }
    try {
      assert.equal(await read('broker.example.com', authority.certificate), 'hello')
      assert.deepEqual(names, ['broker.example.com'])
      const unknown = { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }
      await assert.rejects(read('broker.example.com', null), unknown)
      const otherName = { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }
      await assert.rejects(read('other.example.com', authority.certificate), otherName)
      await assert.rejects(read('127.0.0.1', authority.certificate), otherName)
      using _trust = trustInProcess(authority.certificate)
      assert.equal(await read('broker.example.com', null), 'hello')
      await assert.rejects(read('broker.example.com', testAuthority('Other authority').certificate), unknown)
    } finally {
      await outbound.close()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  test('ends when the signal aborts and the name server has not responded', async () => {
    const outbound = new Outbound({ allow: ['broker.example.com'], lookup: () => new Promise(() => {}) })
    const options = { certificateAuthority: null, signal: AbortSignal.timeout(50) }
    await assert.rejects(outbound.connectBroker('mqtts://broker.example.com', options), { name: 'TimeoutError' })
    await outbound.close()
  })

  test('ends when the signal aborts during the TLS handshake', async () => {
    const opened: Socket[] = []
    const server = createTcpServer((socket) => opened.push(socket.on('error', () => {}))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const outbound = new Outbound({ allow: ['127.0.0.1'] })
    const connecting = outbound.connectBroker(`mqtts://127.0.0.1:${port}`, {
      certificateAuthority: null,
      signal: AbortSignal.timeout(200),
    })
    try {
      await assert.rejects(connecting, { name: 'AbortError' })
    } finally {
      for (const socket of opened) socket.destroy()
      await outbound.close()
      await new Promise((resolve) => server.close(resolve))
    }
  })
})

test('the start names the setting if the S3-compatible store is not in the list', () => {
  const environment = {
    MILLWRIGHT_ARTEFACT_STORE: 's3://bucket',
    MILLWRIGHT_S3_ENDPOINT: 'https://s3.example.com',
    MILLWRIGHT_S3_ACCESS_KEY: 'key',
    MILLWRIGHT_S3_SECRET_KEY: 'secret',
  }
  assert.throws(() => artefactSettings(readCloudConfiguration(environment), '/home'), {
    message:
      'MILLWRIGHT_OUTBOUND_ALLOW does not contain the host of MILLWRIGHT_S3_ENDPOINT: add s3.example.com to the list.',
  })
  const allowed = readCloudConfiguration({ ...environment, MILLWRIGHT_OUTBOUND_ALLOW: '*.example.com' })
  assert.equal(artefactSettings(allowed, '/home').s3?.bucket, 'bucket')
})
