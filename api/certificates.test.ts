import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createAuthority, createCertificate, isCertificateHost } from './certificates.ts'

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
const authority = createAuthority({ subject: { name: 'Plant authority' }, validity: { to: inDays(3_650) } })

function certificateFor(hosts: string[]) {
  const created = createCertificate({
    authority,
    subject: { name: 'ovens', unit: 'link' },
    hosts,
    usages: ['server', 'client'],
    validity: { to: inDays(90) },
  })
  return { ...created, parsed: new X509Certificate(created.certificate) }
}

test('the authority signs certificates for names and addresses', () => {
  const hosts = ['Ovens.plant.example', '10.0.0.7', 'fd00::7', '::ffff:10.0.0.8', '2001:db8:1:2:3:4:5:6']
  const { parsed, key } = certificateFor(hosts)
  const root = new X509Certificate(authority.certificate)
  assert.ok(root.ca && root.verify(root.publicKey))
  assert.ok(parsed.verify(root.publicKey) && parsed.checkIssued(root) && !parsed.ca)
  assert.ok(parsed.checkPrivateKey(createPrivateKey(key)))
  assert.equal(parsed.subject, 'OU=link\nCN=ovens')
  assert.equal(parsed.checkHost('ovens.plant.example'), 'ovens.plant.example')
  for (const address of hosts.slice(1)) assert.ok(parsed.checkIP(address), address)
  assert.equal(parsed.checkIP('10.0.0.9'), undefined)
  assert.deepEqual(parsed.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
  assert.notEqual(certificateFor(hosts).parsed.serialNumber, parsed.serialNumber)
})

test('only DNS names and IP addresses are hosts of a certificate', () => {
  for (const host of ['ovens', 'a-b.example', '*.plant.example', '10.0.0.1', '::1'])
    assert.ok(isCertificateHost(host), host)
  for (const host of [
    '',
    'a b',
    'a..b',
    '*',
    'a.*.b',
    '10.0.0.300',
    'http://a',
    'a:1',
    'a/b',
    '-a',
    `${'a'.repeat(64)}.b`,
  ])
    assert.ok(!isCertificateHost(host), host)
  assert.throws(() => certificateFor(['a b']), /not a DNS name/)
})
