import type { ApplicationDescription, EndpointDescription, UserTokenPolicy } from 'node-opcua-client'
import { type CertificateFacts, parseCertificate } from './certificate.ts'
import { cleanText } from './text.ts'

export type TokenType = 'Anonymous' | 'UserName' | 'Certificate' | 'IssuedToken'
type SecurityMode = 'None' | 'Sign' | 'SignAndEncrypt'

/** `Endpoint` is one way to reach a server: a security mode, a security policy, and the accepted users. */
export type Endpoint = {
  url: string
  mode: SecurityMode
  policyUri: string
  /** The last part of the policy, such as `Basic256Sha256`. */
  policy: string
  tokens: readonly UserToken[]
  certificate: CertificateFacts | undefined
}

/** `UserToken` is a kind of user that an endpoint accepts. */
export type UserToken = { type: TokenType; policyId: string; policyUri: string | undefined }

/** `Application` describes the server software. */
export type Application = {
  uri: string | undefined
  productUri: string | undefined
  name: string | undefined
  isDiscoveryServer: boolean
  discoveryUrls: string[]
}

const modes: readonly (SecurityMode | undefined)[] = [undefined, 'None', 'Sign', 'SignAndEncrypt']
const tokenTypes: readonly TokenType[] = ['Anonymous', 'UserName', 'Certificate', 'IssuedToken']
const discoveryServer = 3
const maxEndpoints = 64
const maxUrls = 64

/** Returns the endpoints that use OPC UA TCP. */
export function endpointsOf(descriptions: readonly EndpointDescription[] | null): Endpoint[] {
  return (descriptions ?? []).slice(0, maxEndpoints).flatMap((one): Endpoint[] => {
    const mode = modes[one.securityMode]
    const url = cleanText(one.endpointUrl, 500)
    const isTcp = /uatcp-uasc-uabinary$/.test(one.transportProfileUri ?? '') || url?.startsWith('opc.tcp:') === true
    if (mode === undefined || url === undefined || !isTcp) return []
    const policyUri = cleanText(one.securityPolicyUri, 200) ?? ''
    const tokens = (one.userIdentityTokens ?? []).slice(0, maxEndpoints).flatMap(tokenOf)
    const certificate = parseCertificate(one.serverCertificate)
    return [{ url, mode, policyUri, policy: policyUri.replace(/^.*#/, ''), tokens, certificate }]
  })
}

function tokenOf({ tokenType, policyId, securityPolicyUri }: UserTokenPolicy): UserToken[] {
  const type = tokenTypes[tokenType]
  if (type === undefined) return []
  return [{ type, policyId: policyId ?? '', policyUri: cleanText(securityPolicyUri, 200) }]
}

export function applicationOf(description: ApplicationDescription | undefined): Application {
  return {
    uri: cleanText(description?.applicationUri, 500),
    productUri: cleanText(description?.productUri, 500),
    name: cleanText(description?.applicationName?.text),
    isDiscoveryServer: description?.applicationType === discoveryServer,
    discoveryUrls: (description?.discoveryUrls ?? []).slice(0, maxUrls).flatMap((url) => cleanText(url, 500) ?? []),
  }
}

/** The supported policies, the preferred one first. Policies with SHA-1 are not used. */
const policies = ['Basic256Sha256', 'Aes256_Sha256_RsaPss', 'Aes128_Sha256_RsaOaep']

/** Returns the endpoints with usable security, the preferred one first. */
export function securedEndpoints(endpoints: readonly Endpoint[]): (Endpoint & { certificate: CertificateFacts })[] {
  return endpoints.filter(isSecured).toSorted((a, b) => rankOf(a) - rankOf(b))
}

function isSecured(endpoint: Endpoint): endpoint is Endpoint & { certificate: CertificateFacts } {
  return endpoint.mode !== 'None' && policies.includes(endpoint.policy) && endpoint.certificate?.isUsable === true
}

function rankOf({ mode, policy }: Endpoint): number {
  return (mode === 'SignAndEncrypt' ? 0 : policies.length) + policies.indexOf(policy)
}

/**
 * Returns the certificate that identifies the server: the one of its best secured endpoint, or of any endpoint if it has
 * no usable one. The choice does not depend on the order of the endpoints.
 */
export function identifyingCertificate(endpoints: readonly Endpoint[]): CertificateFacts | undefined {
  const [best] = securedEndpoints(endpoints)
  const certificates = endpoints.flatMap(({ certificate }) => certificate ?? [])
  return best?.certificate ?? certificates.toSorted((a, b) => (a.hash < b.hash ? -1 : 1))[0]
}
