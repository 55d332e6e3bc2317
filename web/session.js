// @ts-check
import { call, Failure, send } from './client.js'

/**
 * Signing in by authorization code with PKCE. Tokens live in the memory of this page and nowhere else: after a reload
 * the browser asks again with the cookie of its session, which no script can read. What is kept in the browser's storage
 * is worth nothing to a thief: that somebody is signed in, and for one sign-in what its answer is checked with.
 */

const clientId = 'console'
const attemptKey = 'millwright.sign-in'
const signedInKey = 'millwright.signed-in'
/** A token is renewed when it has less than this to live: a request on its way must still arrive with it. */
const renewBeforeMs = 30_000

/** @typedef {{ issuer: string, authorization_endpoint: string, token_endpoint: string, end_session_endpoint: string }} Metadata */
/** @typedef {{ state: string, verifier: string, hash: string }} Attempt */

/** @returns {Promise<Metadata>} */
export function readMetadata() {
  return send('/.well-known/oauth-authorization-server')
}

/** Whether this browser was signed in when it was here last. */
export function wasSignedIn() {
  return localStorage.getItem(signedInKey) !== null
}

/** Told when the person signs out in another tab. @param {() => void} listener */
export function onSignedOutElsewhere(listener) {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === signedInKey && newValue === null) listener()
  })
}

/**
 * Leaves this page for the sign-in page. `silent` comes straight back when somebody would have to type something.
 *
 * @param {Metadata} metadata
 * @param {{ silent?: boolean }} [options]
 */
export async function beginSignIn(metadata, { silent = false } = {}) {
  const attempt = { state: randomText(), verifier: randomText(), hash: location.hash }
  sessionStorage.setItem(attemptKey, JSON.stringify(attempt))
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri(),
    state: attempt.state,
    code_challenge: await challengeOf(attempt.verifier),
    code_challenge_method: 'S256',
    ...(silent ? { prompt: 'none' } : {}),
  })
  location.assign(`${metadata.authorization_endpoint}?${query}`)
}

/**
 * Back from the sign-in page: a session, or undefined when somebody has to sign in first.
 *
 * @param {Metadata} metadata
 * @returns {Promise<Session | undefined>}
 */
export async function finishSignIn(metadata) {
  const answer = new URLSearchParams(location.search)
  const attempt = takeAttempt()
  history.replaceState(null, '', `/${attempt?.hash ?? ''}`)
  if (attempt === undefined || answer.get('state') !== attempt.state) {
    throw refusal('This sign-in was not started here, or is over already')
  }
  if (answer.get('iss') !== metadata.issuer) throw refusal('The answer came from somebody else')
  const code = answer.get('code')
  if (code === null) {
    localStorage.removeItem(signedInKey)
    if (answer.get('error') === 'login_required') return undefined
    throw refusal(answer.get('error_description') ?? 'The sign-in was refused', answer.get('error') ?? undefined)
  }
  const tokens = await askForTokens(metadata, {
    grant_type: 'authorization_code',
    code,
    code_verifier: attempt.verifier,
    redirect_uri: redirectUri(),
  })
  localStorage.setItem(signedInKey, 'yes')
  return new Session(metadata, tokens)
}

/** One answer ends it, whatever it is: it cannot be used a second time. @returns {Attempt | undefined} */
function takeAttempt() {
  const text = sessionStorage.getItem(attemptKey)
  sessionStorage.removeItem(attemptKey)
  return text === null ? undefined : JSON.parse(text)
}

/** @param {string} detail @param {string} [code] */
function refusal(detail, code = 'unauthenticated') {
  return new Failure({ title: 'You are not signed in', detail, code })
}

function redirectUri() {
  return `${location.origin}/auth/callback`
}

function randomText() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

/** @param {string} verifier */
async function challengeOf(verifier) {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

/** @param {Uint8Array} bytes */
function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** @typedef {{ access_token: string, expires_in: number, refresh_token: string }} Tokens */

/** @param {Metadata} metadata @param {Record<string, string>} grant @returns {Promise<Tokens>} */
function askForTokens(metadata, grant) {
  const body = new URLSearchParams({ client_id: clientId, ...grant })
  return send(new URL(metadata.token_endpoint).pathname, { method: 'POST', body })
}

/** Somebody signed in, until they sign out or their session ends. */
export class Session {
  #metadata
  /** @type {Tokens} */
  #tokens
  #renewAt = 0
  /** @type {Promise<void> | undefined} */
  #renewing
  /** Told when nothing can be done any more without signing in again. */
  onEnded = () => {}

  /** @param {Metadata} metadata @param {Tokens} tokens */
  constructor(metadata, tokens) {
    this.#metadata = metadata
    this.#tokens = tokens
    this.#keep(tokens)
  }

  /**
   * Calls the API; a token that has expired meanwhile is renewed first.
   *
   * @param {string} path
   * @param {{ method?: string, data?: unknown, headers?: Record<string, string> }} [options]
   */
  async call(path, options = {}) {
    if (performance.now() > this.#renewAt) await this.#renew()
    try {
      return await call(path, { ...options, token: this.#tokens.access_token })
    } catch (error) {
      if (!(error instanceof Failure && error.status === 401)) throw error
      await this.#renew()
      return call(path, { ...options, token: this.#tokens.access_token })
    }
  }

  /** Ends the session here and on the platform. */
  async signOut() {
    const body = new URLSearchParams({ refresh_token: this.#tokens.refresh_token })
    await send(new URL(this.#metadata.end_session_endpoint).pathname, { method: 'POST', body })
    localStorage.removeItem(signedInKey)
  }

  /** A refresh token is good once, so requests that need it at the same time share one renewal. */
  #renew() {
    const grant = { grant_type: 'refresh_token', refresh_token: this.#tokens.refresh_token }
    this.#renewing ??= askForTokens(this.#metadata, grant)
      .then((tokens) => this.#keep(tokens))
      .catch((error) => {
        if (!(error instanceof Failure && error.status === 400)) throw error
        localStorage.removeItem(signedInKey)
        this.onEnded()
        throw new Failure({ title: 'Your session has ended', detail: 'Sign in again', code: 'unauthenticated' })
      })
      .finally(() => {
        this.#renewing = undefined
      })
    return this.#renewing
  }

  /** @param {Tokens} tokens */
  #keep(tokens) {
    this.#tokens = tokens
    this.#renewAt = performance.now() + tokens.expires_in * 1000 - renewBeforeMs
  }
}
