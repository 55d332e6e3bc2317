import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  type ContentDigests,
  digestsNeeded,
  parseSignature,
  parseTrustAnchor,
  type SignatureAnchor,
  verifySignature,
} from './artefact-signature.ts'
import { Problem } from './problem.ts'
import { createCertificate, createMinisignKey, signCms, type TestCertificate, usageIds } from './signature-testing.ts'
import { onlyInLongRuns, randomCases } from './test-effort.ts'

const content = randomBytes(10_000)

function digestsOf(bytes: Uint8Array): ContentDigests {
  const digest = (name: string) => createHash(name).update(bytes).digest()
  return {
    sha256: digest('sha256'),
    sha384: digest('sha384'),
    sha512: digest('sha512'),
    blake2b512: digest('blake2b512'),
  }
}

function anchorOf({ pem }: Pick<TestCertificate, 'pem'>, id = 'anchor'): SignatureAnchor {
  return { id, format: 'certificate', publicKey: parseTrustAnchor(pem).publicKey }
}

type Check = { anchors: SignatureAnchor[]; at?: Date; bytes?: Uint8Array }

function check(signature: string, { anchors, at = new Date(), bytes = content }: Check) {
  return verifySignature(parseSignature(signature), digestsOf(bytes), anchors, at)
}

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Problem, String(error))
    assert.ok(['invalid_signature', 'invalid_trust_anchor'].includes(error.code), error.code)
    return error.message
  }
  throw new Error('The text was accepted')
}

const root = createCertificate('Root', { isAuthority: true })
const signer = createCertificate('Signer', { issuer: root, usages: [usageIds.codeSigning] })

describe('CMS signatures', () => {
  for (const keyType of ['ec', 'rsa', 'ed25519'] as const) {
    for (const digest of ['sha256', 'sha384', 'sha512'] as const) {
      if (keyType === 'ed25519' && digest !== 'sha512') continue
      test(`accepts a signature of a ${keyType} key with ${digest}`, () => {
        const own = createCertificate('Own', { issuer: root, keyType })
        const signature = signCms(content, { signer: own, digest })
        assert.deepEqual(digestsNeeded(parseSignature(signature)), [digest])
        const result = check(signature, { anchors: [anchorOf(root)] })
        assert.equal(result.state, 'valid', JSON.stringify(result))
        assert.ok(result.state === 'valid' && result.anchorId === 'anchor' && result.signer === 'CN=Own')
      })
    }
  }

  test('refuses a signature of another content', () => {
    const signature = signCms(content, { signer })
    const result = check(signature, { anchors: [anchorOf(root)], bytes: randomBytes(10) })
    assert.deepEqual(result, { state: 'invalid', detail: 'The CMS signature does not match the content' })
  })

  test('refuses signed attributes that were changed', () => {
    const parsed = parseSignature(signCms(content, { signer }))
    assert.ok(parsed.format === 'cms')
    const changed = Buffer.from(parsed.signedAttributes)
    changed[changed.length - 40] = (changed[changed.length - 40] ?? 0) ^ 1
    const result = verifySignature(
      { ...parsed, signedAttributes: changed },
      digestsOf(content),
      [anchorOf(root)],
      new Date(),
    )
    assert.equal(result.state, 'invalid')
  })

  test('does not trust a signer of another authority', () => {
    const other = createCertificate('Other root', { isAuthority: true })
    const result = check(signCms(content, { signer }), { anchors: [anchorOf(other)] })
    assert.equal(result.state, 'untrusted')
    assert.equal(check(signCms(content, { signer }), { anchors: [] }).state, 'untrusted')
  })

  test('does not trust an authority with the same name and another key', () => {
    const impostor = createCertificate('Root', { isAuthority: true })
    const forged = createCertificate('Signer', { issuer: impostor })
    const signature = signCms(content, { signer: forged, certificates: [impostor] })
    assert.equal(check(signature, { anchors: [anchorOf(root)] }).state, 'untrusted')
  })

  test('trusts a signer whose chain contains other certificates of the signature', () => {
    const middle = createCertificate('Middle', { issuer: root, isAuthority: true })
    const low = createCertificate('Low', { issuer: middle, isAuthority: true })
    const own = createCertificate('Own', { issuer: low })
    const signature = signCms(content, { signer: own, certificates: [low, middle] })
    assert.equal(check(signature, { anchors: [anchorOf(root)] }).state, 'valid')
    assert.equal(check(signature, { anchors: [anchorOf(middle)] }).state, 'valid')
    const incomplete = signCms(content, { signer: own, certificates: [low] })
    assert.equal(check(incomplete, { anchors: [anchorOf(root)] }).state, 'untrusted')
  })

  test('limits the time of the search for a chain if all certificates confirm each other', () => {
    const loop = createCertificate('Loop', { isAuthority: true })
    const options = { isAuthority: true, issuer: loop, sameKeyAs: loop }
    const others = Array.from({ length: 13 }, () => createCertificate('Loop', options))
    const own = createCertificate('Own', { issuer: loop })
    const signature = signCms(content, { signer: own, certificates: [loop, ...others] })
    const before = process.cpuUsage()
    assert.equal(check(signature, { anchors: [anchorOf(root)] }).state, 'untrusted')
    assert.equal(check(signature, { anchors: [anchorOf(loop)] }).state, 'valid')
    assert.ok(process.cpuUsage(before).user < 5_000_000)
  })

  test('refuses a trust anchor with a large RSA exponent', () => {
    const slow = createCertificate('Slow', { keyType: 'rsa', isAuthority: true, exponent: 2 ** 32 - 1 })
    assert.match(
      refusalOf(() => parseTrustAnchor(slow.pem)),
      /large exponent/,
    )
  })

  test('shortens the name of a signer', () => {
    const long = createCertificate(`A${' '.repeat(40_000)}B`)
    const result = check(signCms(content, { signer: long }), { anchors: [] })
    assert.equal(result.signer?.length, 500)
  })

  test('does not trust a certificate that an ordinary certificate issued', () => {
    const own = createCertificate('Own', { issuer: signer })
    const signature = signCms(content, { signer: own, certificates: [signer] })
    assert.equal(check(signature, { anchors: [anchorOf(root)] }).state, 'untrusted')
    assert.equal(check(signature, { anchors: [anchorOf(signer)] }).state, 'untrusted')
  })

  test('observes the maximum number of authorities below an authority', () => {
    const limited = createCertificate('Limited', { isAuthority: true, pathLength: 0 })
    const below = createCertificate('Below', { issuer: limited, isAuthority: true })
    const own = createCertificate('Own', { issuer: below })
    const signature = signCms(content, { signer: own, certificates: [below] })
    assert.equal(check(signature, { anchors: [anchorOf(limited)] }).state, 'untrusted')
    const direct = createCertificate('Direct', { issuer: limited })
    assert.equal(check(signCms(content, { signer: direct }), { anchors: [anchorOf(limited)] }).state, 'valid')
  })

  test('accepts a certificate of the signer that is a trust anchor itself, also if it is not in the signature', () => {
    const own = createCertificate('Own')
    assert.equal(check(signCms(content, { signer: own }), { anchors: [anchorOf(own)] }).state, 'valid')
    const without = signCms(content, { signer: own, hasSigner: false })
    assert.equal(check(without, { anchors: [anchorOf(own)] }).state, 'valid')
    assert.equal(check(without, { anchors: [anchorOf(root)] }).state, 'untrusted')
  })

  test('does not trust certificates before and after their validity, and reports the end of the validity', () => {
    const day = 86_400_000
    const now = Date.now()
    const notAfter = new Date(Math.floor(now / 1_000) * 1_000 + day)
    const brief = createCertificate('Brief', { issuer: root, notBefore: new Date(now - day), notAfter })
    const signature = signCms(content, { signer: brief })
    const anchors = [anchorOf(root)]
    const valid = check(signature, { anchors })
    assert.ok(valid.state === 'valid')
    assert.deepEqual(valid.notAfter, notAfter)
    const expired = check(signature, { anchors, at: new Date(now + 2 * day) })
    assert.ok(expired.state === 'untrusted' && expired.detail.includes('expired'))
    assert.equal(check(signature, { anchors, at: new Date(now - 2 * day) }).state, 'untrusted')
    const expiredRoot = createCertificate('Old root', { isAuthority: true, notAfter: new Date(now - 1_000) })
    const own = createCertificate('Own', { issuer: expiredRoot })
    assert.equal(check(signCms(content, { signer: own }), { anchors: [anchorOf(expiredRoot)] }).state, 'untrusted')
  })

  test('does not trust a certificate for another use', () => {
    const web = createCertificate('Web', { issuer: root, usages: [usageIds.serverAuthentication] })
    const result = check(signCms(content, { signer: web }), { anchors: [anchorOf(root)] })
    assert.ok(result.state === 'untrusted' && result.detail.includes('code signing'))
  })

  test('does not trust a short RSA key', () => {
    const weak = createCertificate('Weak', { issuer: root, keyType: 'rsa', rsaBits: 1024 })
    const result = check(signCms(content, { signer: weak }), { anchors: [anchorOf(root)] })
    assert.ok(result.state === 'untrusted' && result.detail.includes('2048 bits'))
    assert.match(
      refusalOf(() => parseTrustAnchor(weak.pem)),
      /2048 bits/,
    )
  })

  test('refuses signatures without signed attributes, with the content, and texts that are not CMS', () => {
    assert.match(
      refusalOf(() => parseSignature(signCms(content, { signer, hasAttributes: false }))),
      /signed attributes/,
    )
    assert.match(
      refusalOf(() => parseSignature(signCms(content, { signer, isAttached: true }))),
      /detached/,
    )
    refusalOf(() => parseSignature(signer.pem))
    refusalOf(() => parseSignature('-----BEGIN CMS-----\n!!!\n-----END CMS-----'))
    refusalOf(() => parseSignature('-----BEGIN CMS-----\n-----END CMS-----'))
    refusalOf(() => parseSignature(''))
    refusalOf(() => parseSignature('hello'))
    const signature = signCms(content, { signer })
    refusalOf(() => parseSignature(signature + signature))
  })

  test('accepts signatures that openssl creates', (t) => {
    if (spawnSync('openssl', ['version']).status !== 0) return t.skip('openssl is not installed')
    const folder = mkdtempSync(join(tmpdir(), 'millwright-openssl-'))
    try {
      const openssl = (...parts: string[]) => {
        const { status, stderr } = spawnSync('openssl', parts, { cwd: folder })
        assert.equal(status, 0, String(stderr))
      }
      writeFileSync(join(folder, 'content'), content)
      const subject = ['-subj', '/O=Example/CN=Firmware signer', '-days', '30']
      for (const [name, key] of Object.entries({
        rsa: ['rsa:2048'],
        ec: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
      })) {
        openssl(
          'req',
          '-x509',
          '-newkey',
          ...key,
          '-nodes',
          '-keyout',
          `${name}.key`,
          '-out',
          `${name}.pem`,
          ...subject,
        )
        const pss = name === 'rsa' ? [[], ['-keyopt', 'rsa_padding_mode:pss']] : [[]]
        for (const [index, more] of pss.entries()) {
          const out = `${name}-${index}.cms`
          const sign = ['cms', '-sign', '-binary', '-in', 'content', '-outform', 'PEM', '-out', out, '-md', 'sha384']
          openssl(...sign, '-signer', `${name}.pem`, '-inkey', `${name}.key`, ...more)
          const result = check(readFileSync(join(folder, out), 'utf8'), {
            anchors: [anchorOf({ pem: readFileSync(join(folder, `${name}.pem`), 'utf8') })],
          })
          assert.ok(result.state === 'valid', `${out}: ${JSON.stringify(result)}`)
          assert.equal(result.signer, 'O=Example, CN=Firmware signer')
        }
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('minisign signatures', () => {
  const key = createMinisignKey()
  const anchors: SignatureAnchor[] = [
    { id: 'key', format: 'minisign-key', publicKey: parseTrustAnchor(key.publicKey).publicKey },
  ]

  test('accepts a signature of a known key', () => {
    const signature = key.sign(content)
    assert.deepEqual(digestsNeeded(parseSignature(signature)), ['blake2b512'])
    assert.deepEqual(check(signature, { anchors }), { state: 'valid', signer: key.keyId, anchorId: 'key' })
    assert.deepEqual(check(signature.replaceAll('\n', '\r\n'), { anchors }).state, 'valid')
  })

  test('does not trust an unknown key, and refuses another content and another comment', () => {
    const other = createMinisignKey()
    assert.equal(check(other.sign(content), { anchors }).state, 'untrusted')
    assert.equal(check(key.sign(content), { anchors, bytes: randomBytes(5) }).state, 'invalid')
    const changed = key.sign(content).replace('timestamp:1', 'timestamp:2')
    assert.equal(check(changed, { anchors }).state, 'invalid')
  })

  test('refuses the legacy format with a reason', () => {
    assert.match(
      refusalOf(() => parseSignature(key.sign(content, { isLegacy: true }))),
      /legacy/,
    )
  })

  test('refuses damaged keys and signatures', () => {
    refusalOf(() => parseTrustAnchor('RWQ='))
    refusalOf(() => parseTrustAnchor(`${key.publicKey}${key.publicKey}`))
    refusalOf(() => parseSignature(key.sign(content).split('\n').slice(0, 2).join('\n')))
    refusalOf(() => parseSignature(`${key.sign(content)}more`))
  })
})

describe('trust anchors', () => {
  test('refuses private keys, several certificates and texts that are not certificates as trust anchors', () => {
    refusalOf(() => parseTrustAnchor(root.pem + signer.pem))
    refusalOf(() => parseTrustAnchor(root.pem.replaceAll('CERTIFICATE', 'PRIVATE KEY')))
    refusalOf(() => parseTrustAnchor('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'))
    refusalOf(() => parseTrustAnchor(''))
  })

  test('returns the subject and the end of the validity of a trust anchor', () => {
    const { format, subject, notAfter, fingerprint } = parseTrustAnchor(`a comment\n${root.pem}`)
    assert.equal(format, 'certificate')
    assert.equal(subject, 'CN=Root')
    assert.ok(notAfter !== undefined && notAfter > new Date())
    assert.match(fingerprint, /^[0-9A-F:]{95}$/)
  })
})

describe('damaged input', () => {
  const runs = { numRuns: Number(process.env.MILLWRIGHT_FUZZ ?? randomCases(100)) }
  const key = createMinisignKey()
  const anchors: SignatureAnchor[] = [
    anchorOf(root),
    { id: 'key', format: 'minisign-key', publicKey: parseTrustAnchor(key.publicKey).publicKey },
  ]

  /** Parses and checks a text. Only a problem may be thrown. Returns whether the signature is valid. */
  function isValid(text: string): boolean {
    try {
      return check(text, { anchors }).state === 'valid'
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid_signature') return false
      throw error
    }
  }

  test('any text is refused with a problem', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: 'binary' })), (text) => {
        assert.equal(isValid(text), false)
        assert.equal(isValid(`-----BEGIN CMS-----\n${text}\n-----END CMS-----\n`), false)
        assert.equal(isValid(`untrusted comment: x\n${text}\ntrusted comment: x\n${text}`), false)
        try {
          parseTrustAnchor(text)
        } catch (error) {
          assert.ok(error instanceof Problem)
        }
      }),
      runs,
    )
  })

  test('a CMS signature with changed bytes is not valid, unless the bytes have no meaning', onlyInLongRuns, () => {
    const signature = signCms(content, { signer })
    const der = Buffer.from(signature.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64')
    fc.assert(
      fc.property(
        fc.nat(der.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.nat(der.length),
        (index, change, length) => {
          const changed = Buffer.from(der)
          changed[index] = (changed[index] ?? 0) ^ change
          const pem = (bytes: Buffer) => `-----BEGIN CMS-----\n${bytes.toString('base64')}\n-----END CMS-----\n`
          if (isValid(pem(changed))) {
            // The change must not affect what was signed.
            const parsed = parseSignature(pem(changed))
            const original = parseSignature(signature)
            assert.ok(parsed.format === 'cms' && original.format === 'cms')
            assert.deepEqual(parsed.messageDigest, original.messageDigest)
            assert.deepEqual(parsed.signature, original.signature)
          }
          if (length < der.length) assert.equal(isValid(pem(der.subarray(0, length))), false)
        },
      ),
      runs,
    )
  })

  test('a minisign signature with a changed character is not valid, except in the untrusted comment', () => {
    const signature = key.sign(content)
    const start = signature.indexOf('\n') + 1
    fc.assert(
      fc.property(fc.integer({ min: start, max: signature.length - 2 }), fc.string({ minLength: 1 }), (index, text) => {
        const changed = signature.slice(0, index) + text + signature.slice(index + 1)
        if (changed.trim() !== signature.trim() && !isSameBase64(changed, signature))
          assert.equal(isValid(changed), false, changed)
      }),
      runs,
    )
  })

  test('deeply nested ASN.1 is refused', () => {
    const depth = 20_000
    const bytes = Buffer.alloc(depth * 2)
    for (let index = 0; index < depth; index++) bytes.set([0x30, 0x80], index * 2)
    assert.equal(isValid(`-----BEGIN CMS-----\n${bytes.toString('base64')}\n-----END CMS-----`), false)
  })
})

/** Returns whether two signatures contain the same bytes, because the last bits of base64 can have no meaning. */
function isSameBase64(one: string, other: string): boolean {
  const bytes = (text: string) =>
    text
      .trim()
      .split(/\r?\n/)
      .slice(1)
      .map((line) => (line.includes(':') ? line : Buffer.from(line, 'base64').toString('hex')))
      .join('\n')
  return bytes(one) === bytes(other)
}
