import { Problem } from '@millwright/api/problem.ts'
import { storableText } from '../../platform/database/json.ts'

const texts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection. Check the host and the port',
  ECONNRESET: 'closed the connection without a response',
  EPIPE: 'closed the connection without a response',
  UND_ERR_SOCKET: 'closed the connection without a response',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept a connection in time',
  ETIMEDOUT: 'did not accept a connection in time',
  EHOSTUNREACH: 'cannot be reached from the platform',
  ENETUNREACH: 'cannot be reached from the platform',
  ENOTFOUND: 'has a name that cannot be resolved',
  EAI_AGAIN: 'has a name that cannot be resolved at the moment',
  UND_ERR_HEADERS_OVERFLOW: 'sent headers that are larger than the limit',
}

/** The error codes of Node.js for certificates that are not trusted. */
const certificateCode = /CERT|^UNABLE_TO|_SIGNATURE$|_ISSUER$|^INVALID_(?:CA|PURPOSE)$|^PATH_LENGTH/

/** The causes of certificates that are not trusted. The messages of Node.js describe options of Node.js. */
const certificateTexts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownIssuer('it is self-signed'),
  SELF_SIGNED_CERT_IN_CHAIN: unknownIssuer('it comes from an unknown authority'),
  UNABLE_TO_GET_ISSUER_CERT: unknownIssuer('it comes from an unknown authority'),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownIssuer('it comes from an unknown authority'),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer('it comes from an unknown authority, or the chain is incomplete'),
}

/** The maximum length of the sentence. A receiver can make a message long, for example with many names in its certificate. */
const maximumCharacters = 500

/**
 * Returns one sentence for the log of a subscription that states why a connection to its receiver failed. `receiver` is
 * the subject of the sentence, such as "The receiver" or "The broker".
 */
export function connectionError(error: unknown, receiver: string): string {
  return storableText(sentenceOf(error, receiver).slice(0, maximumCharacters))
}

function sentenceOf(error: unknown, receiver: string): string {
  if (error instanceof Problem) return error.message
  const { code = '', name, message } = rootOf(error)
  const known = texts[code]
  if (known !== undefined) return `${receiver} ${known}`
  if (certificateCode.test(code))
    return `${receiver} has a certificate that is not trusted: ${certificateTexts[code] ?? message} (${code})`
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `${receiver} does not accept TLS on this port (${code})`
  if (name === 'HTTPParserError') return `${receiver} sent a response that is not valid HTTP: ${message}`
  return `The connection to ${lowerFirst(receiver)} failed: ${message}`
}

function unknownIssuer(cause: string): string {
  return `${cause}. Set certificateAuthority to the certificates of its private authority`
}

/** Returns the error of one address, if the connection to each address of a host failed. */
function rootOf(error: unknown): { code?: string; name?: string; message: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return rootOf(error.errors[0])
  return error instanceof Error ? error : { message: String(error) }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
