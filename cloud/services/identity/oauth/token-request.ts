import { optional, type Parameters, Refusal } from './parameters.ts'

/** Who asks for a token, as far as the request says so. */
export type ClientCredentials = { clientId: string | undefined; clientSecret: string | undefined }

/** RFC 6749 §2.3.1: in the form or by HTTP Basic; both are fine as long as they agree. */
export function readClient(form: Parameters, authorization: string | undefined): ClientCredentials {
  const given = { clientId: optional(form, 'client_id'), clientSecret: optional(form, 'client_secret') }
  if (authorization === undefined) return given
  const basic = readBasic(authorization)
  if (given.clientId !== undefined && given.clientId !== basic.clientId) {
    throw new Refusal('invalid_request', 'client_id differs between form and Authorization header')
  }
  if (given.clientSecret !== undefined && given.clientSecret !== basic.clientSecret) {
    throw new Refusal('invalid_request', 'client_secret differs between form and Authorization header')
  }
  return basic
}

function readBasic(authorization: string): { clientId: string; clientSecret: string | undefined } {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined) throw new Refusal('invalid_client', 'The Authorization header must be HTTP Basic')
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 0) throw new Refusal('invalid_client', 'The Authorization header has no colon between id and secret')
  return { clientId: formDecoded(text.slice(0, colon)), clientSecret: formDecoded(text.slice(colon + 1)) || undefined }
}

/** Id and secret are form-encoded before they are joined. */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new Refusal('invalid_client', 'The Authorization header is not valid percent-encoding')
  }
}
