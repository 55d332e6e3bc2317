import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../platform/log.ts'
import { testHub } from '../../platform/testing/hub.ts'
import { CertificateFiles } from '../../platform/tls/certificate-files.ts'
import { PairFolder, serverCertificate, testAuthority } from '../../platform/tls/testing.ts'

const authority = testAuthority()
const server = serverCertificate(authority, { hosts: ['plant.example'] })
const withRoot = { ...server, certificate: `${server.certificate}${authority.certificate}` }

type Case = { pair?: typeof server; baseUrl?: string; trustedProxies?: string[] }

/** Returns the trust in the configuration file of a gateway. */
async function trustIn({ pair = withRoot, baseUrl = 'https://plant.example', trustedProxies = [] }: Case) {
  using folder = new PairFolder(pair)
  const { certFile, keyFile } = folder
  const tls = await CertificateFiles.open({ certFile, keyFile, log: createLog({ level: 'fatal' }) })
  await using hub = await testHub({ tls, baseUrl, trustedProxies })
  const admin = await hub.as('administrator')
  const { data } = await admin.onboarding.createGateway({ body: { data: { name: 'hall' } } })
  return (await admin.onboarding.createGatewayConfig({ params: { id: data.id } })).tls
}

test('the configuration file of a gateway contains the private authority of the platform', async () => {
  const tls = await trustIn({})
  assert.equal(tls?.authority?.replaceAll(/\s/g, ''), authority.certificate.replaceAll(/\s/g, ''))
  assert.equal(tls?.fingerprint, undefined)
})

test('the configuration file contains no authority if the platform does not know what gateways see', async () => {
  assert.equal(await trustIn({ pair: server }), undefined, 'a certificate file without a root')
  assert.equal(await trustIn({ trustedProxies: ['10.0.0.5'] }), undefined, 'a proxy with another certificate')
  assert.equal(await trustIn({ baseUrl: 'https://other.example' }), undefined, 'another name')
})
