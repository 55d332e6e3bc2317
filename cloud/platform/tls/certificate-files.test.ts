import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCloudConfiguration } from '../../settings.ts'
import { createLog } from '../log.ts'
import { CertificateFiles } from './certificate-files.ts'
import { hostOf } from './certificate-pair.ts'
import { PairFolder, serverCertificate, testAuthority } from './testing.ts'

const authority = testAuthority()

async function until(holds: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 120_000; !holds(); await sleep(10))
    assert.ok(performance.now() < deadline, 'the condition was not met')
}

function recordedLog() {
  const lines: string[] = []
  return { lines, log: createLog({ level: 'warn', to: { write: (line) => lines.push(line) } }) }
}

describe('CertificateFiles', () => {
  test('reads the certificate files again when they change', async () => {
    using folder = new PairFolder(serverCertificate(authority))
    const { log } = recordedLog()
    const files = await CertificateFiles.open({ ...folder, certFile: folder.certFile, keyFile: folder.keyFile, log })
    const next = serverCertificate(authority)
    folder.write(next)
    await until(() => files.pair.cert === next.certificate)
    assert.equal(files.warning, undefined)
    await files.close()
  })

  test('reads the certificate files again when a symbolic link is replaced, as Kubernetes and certbot do', async () => {
    using folder = new PairFolder(serverCertificate(authority))
    const version = (name: string) => {
      const pair = serverCertificate(authority)
      mkdirSync(join(folder.path, name))
      writeFileSync(join(folder.path, name, 'tls.crt'), pair.certificate)
      writeFileSync(join(folder.path, name, 'tls.key'), pair.key)
      return pair
    }
    version('first')
    const second = version('second')
    symlinkSync('first', join(folder.path, '..data'))
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder.path, name))
    const { log } = recordedLog()
    const [certFile, keyFile] = [join(folder.path, 'tls.crt'), join(folder.path, 'tls.key')]
    const files = await CertificateFiles.open({ certFile, keyFile, log })
    symlinkSync('second', join(folder.path, '..data_new'))
    renameSync(join(folder.path, '..data_new'), join(folder.path, '..data'))
    await until(() => files.pair.cert === second.certificate)
    await files.close()
  })

  test('reads the certificate files in intervals if no change is reported', async () => {
    using outer = new PairFolder(serverCertificate(authority))
    const target = join(outer.path, 'target')
    mkdirSync(target)
    using inner = new PairFolder(serverCertificate(authority))
    // A change of the target of a link in another folder is not reported for the folder of the link.
    const certFile = join(target, 'tls.crt')
    const keyFile = join(target, 'tls.key')
    symlinkSync(inner.certFile, certFile)
    symlinkSync(inner.keyFile, keyFile)
    const { log } = recordedLog()
    const files = await CertificateFiles.open({ certFile, keyFile, log, pollMs: 20 })
    const next = serverCertificate(authority)
    inner.write(next)
    await until(() => files.pair.cert === next.certificate)
    await files.close()
  })

  test('uses the former certificate while the new files are not usable', async () => {
    const first = serverCertificate(authority)
    using folder = new PairFolder(first)
    const { log, lines } = recordedLog()
    const files = await CertificateFiles.open({ certFile: folder.certFile, keyFile: folder.keyFile, log, pollMs: 20 })
    const rejects = async (change: () => void, reason: RegExp) => {
      change()
      await until(() => reason.test(files.warning ?? ''))
      assert.equal(files.pair.cert, first.certificate)
      assert.equal(files.isRejected, true)
    }
    const other = serverCertificate(authority)
    await rejects(() => folder.write({ certificate: other.certificate, key: first.key }), /key does not belong/)
    await rejects(() => folder.write(serverCertificate(authority, { days: -1 })), /expired on \d{4}-\d\d-\d\d/)
    await rejects(() => folder.write({ ...other, certificate: 'text' }), /no certificate in PEM format/)
    await rejects(() => folder.write({ ...other, key: 'text' }), /no private key in PEM format/)
    await rejects(() => rmSync(folder.keyFile), /cannot be read \(ENOENT\)/)
    assert.ok(lines.some((line) => line.includes('the new TLS certificate is not used')))
    assert.ok(!lines.some((line) => line.includes('PRIVATE KEY')))
    folder.write(other)
    await until(() => files.pair.cert === other.certificate)
    assert.equal(files.warning, undefined)
    await files.close()
  })

  test('returns a warning before the certificate expires', async () => {
    using folder = new PairFolder(serverCertificate(authority, { days: 5 }))
    const { log, lines } = recordedLog()
    const files = await CertificateFiles.open({ certFile: folder.certFile, keyFile: folder.keyFile, log })
    assert.match(files.warning ?? '', /^The TLS certificate expires on \d{4}-\d\d-\d\d$/)
    assert.ok(Math.abs(files.expiresInSeconds - 5 * 86_400) < 60)
    assert.ok(lines.some((line) => line.includes('expires soon')))
    await files.close()
  })

  test('prevents the start and names the settings if the certificate files are not usable', async () => {
    const { log } = recordedLog()
    using folder = new PairFolder(serverCertificate(authority, { days: -1 }))
    await assert.rejects(CertificateFiles.open({ certFile: folder.certFile, keyFile: folder.keyFile, log }), {
      message: /^The certificate expired on .*: check MILLWRIGHT_TLS_CERT \(.*server.pem\) and MILLWRIGHT_TLS_KEY/,
    })
  })
})

test('a setting of TLS without its counterpart prevents the start', () => {
  const refuses = (environment: Record<string, string>, message: RegExp) =>
    assert.throws(() => readCloudConfiguration(environment), { message })
  refuses({ MILLWRIGHT_TLS_CERT: 'a.pem' }, /belong together/)
  refuses({ MILLWRIGHT_TLS_KEY: 'a.pem' }, /belong together/)
  refuses({ MILLWRIGHT_HTTP_REDIRECT_PORT: '80' }, /needs TLS/)
  const pair = { MILLWRIGHT_TLS_CERT: 'a.pem', MILLWRIGHT_TLS_KEY: 'b.pem' }
  refuses({ ...pair, MILLWRIGHT_BASE_URL: 'http://plant.example' }, /MILLWRIGHT_BASE_URL.*use an address with https/)
  refuses(
    { ...pair, MILLWRIGHT_INTERNAL_URL: 'http://a.example' },
    /MILLWRIGHT_INTERNAL_URL.*use an address with https/,
  )
})

test('the name of a server without a base URL comes from its certificate', () => {
  const host = (hosts: string[], listensOn: string) =>
    hostOf(new X509Certificate(serverCertificate(authority, { hosts }).certificate), listensOn)
  assert.equal(host(['localhost', 'plant.example'], '127.0.0.1'), 'localhost')
  assert.equal(host(['localhost', 'plant.example'], '0.0.0.0'), 'plant.example')
  assert.equal(host(['*.example', 'plant.example'], '127.0.0.1'), 'plant.example')
  assert.equal(host(['10.1.2.3'], '0.0.0.0'), '10.1.2.3')
  assert.equal(host(['fd00::1'], '::'), '[fd00::1]'.replace('fd00::1', 'FD00:0:0:0:0:0:0:1'))
})
