import { optional, type Parameters, Refusal } from './parameters.ts'

/** The client id and secret of a token request. */
export type ClientCredentials = { clientId: string | undefined; clientSecret: string | undefined }

/** Reads the credentials from the form or from HTTP Basic (RFC 6749 §2.3.1). If both are present, they must agree. */
export function readClient(form: Parameters, authorization: string | undefined): ClientCredentials {
  const formCredentials = { clientId: optional(form, 'client_id'), clientSecret: optional(form, 'client_secret') }
  if (authorization === undefined) return formCredentials
  const basic = readBasic(authorization)
  if (formCredentials.clientId !== undefined && formCredentials.clientId !== basic.clientId) {
    throw new Refusal('invalid_request', 'client_id in the form differs from the client id in the Authorization header')
  }
  if (formCredentials.clientSecret !== undefined && formCredentials.clientSecret !== basic.clientSecret) {
    throw new Refusal(
      'invalid_request',
      'client_secret in the form differs from the client secret in the Authorization header',
    )
  }
  return basic
}

function readBasic(authorization: string): { clientId: string; clientSecret: string | undefined } {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined)
    throw new Refusal('invalid_client', 'The Authorization header must use HTTP Basic authentication')
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 0)
    throw new Refusal('invalid_client', 'The Authorization header has no colon between client id and secret')
  return { clientId: formDecoded(text.slice(0, colon)), clientSecret: formDecoded(text.slice(colon + 1)) || undefined }
}

/** Decodes a client id or a secret. Clients form-encode the id and the secret before they join them with a colon. */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new Refusal('invalid_client', 'The Authorization header contains invalid percent-encoding')
  }
}
