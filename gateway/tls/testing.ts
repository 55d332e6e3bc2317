import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ChannelCredentials, Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { type CertificateWithKey, createCertificate } from '@millwright/api/certificates.ts'
import { interfaceName, linkServices, wireMethod } from '@millwright/api/link-protocol.ts'
import { gatewayTlsName } from '@millwright/api/link-tls.ts'
import { type IssuedRole, issueCertificate } from './issued-certificates.ts'

/** This file contains the test support for TLS between the gateway, links and agents. */

const dayMs = 86_400_000

/** Creates a certificate as the command line does. */
export async function certificateFrom(home: string, name: string, role: IssuedRole, hosts = ['127.0.0.1']) {
  const { certificate, key, authority, issued } = await issueCertificate(home, { name, role, hosts, days: 90 })
  return { certificate, key, authority, issued }
}

/** Creates a certificate with the authority of a gateway, without its knowledge. */
export function forgedCertificate(home: string, more: { name?: string; unit?: string; to?: Date } = {}) {
  const { name = 'ovens', unit = 'link', to = new Date(Date.now() + dayMs) } = more
  const text = readFileSync(join(home, 'tls', 'authority.pem'), 'utf8')
  const authority: CertificateWithKey = { certificate: text, key: text.slice(text.indexOf('-----BEGIN PRIVATE')) }
  const created = createCertificate({
    authority,
    subject: { name, unit },
    hosts: ['127.0.0.1'],
    usages: ['server', 'client'],
    validity: { from: new Date(Date.now() - 30 * dayMs), to },
  })
  return { ...created, authority: text.slice(0, text.indexOf('-----BEGIN PRIVATE')) }
}

export type ClientTls = { certificate?: string; key?: string; authority: string }

function channelCredentials({ certificate, key, authority }: ClientTls): ChannelCredentials {
  const buffer = (text: string | undefined) => (text === undefined ? null : Buffer.from(text))
  return credentials.createSsl(buffer(authority), buffer(key), buffer(certificate))
}

/** Returns a client with its own connection. */
export function tlsClient(target: string, tls?: ClientTls): Client {
  const channel = tls === undefined ? credentials.createInsecure() : channelCredentials(tls)
  return new Client(target, channel, {
    'grpc.use_local_subchannel_pool': 1,
    ...(tls === undefined ? {} : { 'grpc.ssl_target_name_override': gatewayTlsName }),
  })
}

type Registering = { port: number; id: string; host?: string; linkPort?: number; tls?: ClientTls | undefined }

/** Registers a link. Returns the error, or undefined. */
export function registrationError({ port, id, host = '127.0.0.1', linkPort = 9, tls }: Registering) {
  const { registry } = linkServices
  const info = { appInstanceId: id, grpcIp: { case: 'ipv4Address', value: host }, grpcIpPortNumber: linkPort }
  return unaryError({
    target: `127.0.0.1:${port}`,
    method: wireMethod(registry.method.registerService, interfaceName(registry, 'millwright')),
    request: { info },
    tls,
  })
}

type Unary = { target: string; method: ReturnType<typeof wireMethod>; request: object; tls?: ClientTls | undefined }

/** Calls a method. Returns the error, or undefined. */
export async function unaryError({ target, method, request, tls }: Unary): Promise<ServiceError | undefined> {
  const client = tlsClient(target, tls)
  const { path, requestSerialize, responseDeserialize } = method
  try {
    return await new Promise((resolve) => {
      const deadline = Date.now() + 60_000
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request as never, { deadline }, (error) =>
        resolve(error ?? undefined),
      )
    })
  } finally {
    client.close()
  }
}
