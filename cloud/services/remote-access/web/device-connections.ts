import { createHash, constants as cryptoConstants } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import type { Pool } from 'undici'
import { undici } from '../../../platform/undici.ts'
import { deviceOriginOf } from './device-origin.ts'
import { webLimits } from './web-limits.ts'
import type { WebSession, WebSessions } from './web-session.ts'

/** Creates the HTTP connections to the device of a session. They run through the tunnel of the gateway. */
export function deviceConnections(session: WebSession, sessions: WebSessions): Pool {
  const certificates = new Set<string>()
  const open = async (): Promise<Duplex> => {
    const stream = await sessions.openStream(session)
    if (session.service === 'http') return stream
    const secure = await handshake(stream)
    const fingerprint = fingerprintOf(secure)
    if (certificates.has(fingerprint)) return secure
    if (!(await sessions.acceptCertificate(session, fingerprint))) {
      secure.destroy()
      throw new StreamRefusal({ code: 'host_key_changed', detail: 'The certificate of the device has changed.' })
    }
    certificates.add(fingerprint)
    return secure
  }
  return new (undici().Pool)(deviceOriginOf(session).origin, {
    connect: (_options, done) => {
      open().then(
        (stream) => done(null, stream as Socket),
        (error: Error) => done(error, null),
      )
    },
    connections: webLimits.connections,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: webLimits.headerBytes,
    headersTimeout: webLimits.answerMs,
    bodyTimeout: 0,
    keepAliveTimeout: webLimits.keepAliveMs,
  })
}

/**
 * Opens TLS on a stream. Devices have self-signed certificates and often old versions of TLS, short keys and old
 * signatures, so they are accepted. The identity of the device is its certificate, which must not change.
 */
function handshake(stream: Duplex): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      socket: stream,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
      secureOptions: cryptoConstants.SSL_OP_LEGACY_SERVER_CONNECT,
    })
    const fail = (detail: string) => {
      clearTimeout(timer)
      socket.destroy()
      reject(new StreamRefusal({ code: 'device_unreachable', detail }))
    }
    const timer = setTimeout(() => fail('The device did not finish the TLS handshake.'), webLimits.handshakeMs)
    const onError = (error: Error) => fail(`The TLS handshake with the device failed: ${error.message}`)
    const onClose = () => fail('The device closed the connection during the TLS handshake.')
    socket.once('error', onError)
    socket.once('close', onClose)
    socket.once('close', () => stream.destroy())
    socket.once('secureConnect', () => {
      clearTimeout(timer)
      socket.off('error', onError)
      socket.off('close', onClose)
      // Later errors also close the connection, and the HTTP client handles the close.
      socket.on('error', () => {})
      resolve(socket)
    })
  })
}

function fingerprintOf(socket: TLSSocket): string {
  const { raw } = socket.getPeerCertificate()
  const digest = createHash('sha256')
    .update(raw ?? '')
    .digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}
