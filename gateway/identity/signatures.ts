import { createHash, randomUUID } from 'node:crypto'
import { tokenAlgorithm } from '@millwright/api/token.ts'
import { SignJWT } from 'jose'
import type { Clock } from '../clock.ts'
import type { OwnKey } from './key.ts'

/** The lifetime of a client assertion. The cloud accepts up to five minutes. */
const assertionSeconds = 60

type Signer = { key: OwnKey; clock: Clock }

function secondsOf(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}

/** Returns the proof that the gateway has the private key, for its enrolment. */
export function enrolmentProof({ key, clock }: Signer, claims: { gatewayId: string; enrolmentToken: string }) {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: tokenAlgorithm })
    .setIssuedAt(secondsOf(clock))
    .sign(key.privateKey)
}

/** Returns the client assertion for the token endpoint (RFC 7523). */
export function clientAssertion(
  { key, clock }: Signer,
  { clientId, audience }: { clientId: string; audience: string },
) {
  const now = secondsOf(clock)
  return new SignJWT()
    .setProtectedHeader({ alg: tokenAlgorithm, kid: key.thumbprint })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(audience)
    .setJti(randomUUID())
    .setIssuedAt(now)
    .setExpirationTime(now + assertionSeconds)
    .sign(key.privateKey)
}

/** Returns the proof of possession for one request (RFC 9449). A stolen token is useless without the private key. */
export function requestProof({ key, clock }: Signer, request: { method: string; url: URL; token: string }) {
  const { method, url, token } = request
  return new SignJWT({
    htm: method,
    htu: url.origin + url.pathname,
    ath: createHash('sha256').update(token).digest('base64url'),
  })
    .setProtectedHeader({ alg: tokenAlgorithm, typ: 'dpop+jwt', jwk: key.publicKey })
    .setJti(randomUUID())
    .setIssuedAt(secondsOf(clock))
    .sign(key.privateKey)
}
