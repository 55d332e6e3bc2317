import { findPublicClient, type PublicClient } from './client.ts'
import { type OAuthError, optional, type Parameters, Refusal, readScope, required } from './parameters.ts'

/** Somebody's wish to sign in to a program of ours, with everything checked that can be checked without knowing who. */
export type AuthorizationRequest = {
  client: PublicClient
  redirectUri: string
  state: string | undefined
  /** Role names, or undefined for all that are held. */
  scope: string[] | undefined
  challenge: string
  prompt: 'login' | 'none' | undefined
}

export type Reading =
  /** It is not known where it would be safe to send the browser: a page tells what is wrong. */
  | { outcome: 'unsafe'; detail: string }
  | { outcome: 'refused'; location: string }
  | { outcome: 'accepted'; request: AuthorizationRequest }

const s256 = /^[A-Za-z0-9_-]{43}$/

export function readAuthorizationRequest(query: Parameters, baseUrl: string): Reading {
  const place = readPlace(query, baseUrl)
  if ('outcome' in place) return place
  let state: string | undefined
  try {
    state = optional(query, 'state')
    return { outcome: 'accepted', request: { ...place, state, ...readRest(query) } }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { outcome: 'refused', location: refusalLocation({ ...place, state }, error, baseUrl) }
  }
}

type Place = { client: PublicClient; redirectUri: string }

/** First of all and alone: every later fault is told by sending the browser there. */
function readPlace(query: Parameters, baseUrl: string): Place | (Reading & { outcome: 'unsafe' }) {
  try {
    const client = findPublicClient(required(query, 'client_id'))
    if (client === undefined) return { outcome: 'unsafe', detail: 'No program with this client_id is registered.' }
    const redirectUri = required(query, 'redirect_uri')
    if (client.mayReturnTo(redirectUri, baseUrl)) return { client, redirectUri }
    return { outcome: 'unsafe', detail: `The redirect_uri is not one that is registered for ${client.title}.` }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { outcome: 'unsafe', detail: `The request cannot be read: ${error.message}.` }
  }
}

function readRest(query: Parameters): Pick<AuthorizationRequest, 'scope' | 'challenge' | 'prompt'> {
  if (required(query, 'response_type') !== 'code') {
    throw new Refusal('unsupported_response_type', 'response_type must be code')
  }
  if ((optional(query, 'response_mode') ?? 'query') !== 'query') {
    throw new Refusal('invalid_request', 'response_mode must be query')
  }
  const challenge = required(query, 'code_challenge')
  if (optional(query, 'code_challenge_method') !== 'S256') {
    throw new Refusal('invalid_request', 'code_challenge_method must be S256')
  }
  if (!s256.test(challenge)) throw new Refusal('invalid_request', 'code_challenge is not an S256 challenge')
  return { challenge, scope: readScope(optional(query, 'scope')), prompt: readPrompt(optional(query, 'prompt')) }
}

function readPrompt(prompt: string | undefined): AuthorizationRequest['prompt'] {
  const wishes = prompt?.split(' ') ?? []
  if (wishes.includes('none') && wishes.length > 1) {
    throw new Refusal('invalid_request', 'prompt=none stands alone')
  }
  if (wishes.includes('none')) return 'none'
  return wishes.includes('login') || wishes.includes('select_account') ? 'login' : undefined
}

type Return = { redirectUri: string; state: string | undefined }

/** Where the browser goes with its code. `iss` tells the program which server answered (RFC 9207). */
export function codeLocation({ redirectUri, state }: Return, code: string, issuer: string): string {
  return withParameters(redirectUri, { code, state, iss: issuer })
}

export function refusalLocation(to: Return, refusal: { error: OAuthError; message: string }, issuer: string): string {
  const { error, message } = refusal
  return withParameters(to.redirectUri, { error, error_description: message, state: to.state, iss: issuer })
}

function withParameters(redirectUri: string, parameters: Record<string, string | undefined>): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}

/** The request as a query again: where the form of the sign-in page goes to. */
export function queryOf({ client, redirectUri, state, scope, challenge, prompt }: AuthorizationRequest): string {
  const query = new URLSearchParams({ response_type: 'code', client_id: client.id, redirect_uri: redirectUri })
  if (scope !== undefined) query.set('scope', scope.join(' '))
  if (state !== undefined) query.set('state', state)
  query.set('code_challenge', challenge)
  query.set('code_challenge_method', 'S256')
  if (prompt !== undefined) query.set('prompt', prompt)
  return query.toString()
}
