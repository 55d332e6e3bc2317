import { Failure } from '../api/failure.ts'
import { request, send } from '../api/http.ts'

/**
 * This file implements the sign-in with authorization code and PKCE. Tokens exist only in the memory of this page.
 * After a reload, the console gets new tokens with the session cookie of the browser, which scripts cannot read. The
 * browser storage contains only a signed-in flag and the state of one sign-in attempt.
 */

const clientId = 'console'
const attemptKey = 'millwright.sign-in'
const signedInKey = 'millwright.signed-in'
/** How long before their expiry tokens are renewed, so that no request arrives with an expired token. */
const renewBeforeMs = 30_000

export type Metadata = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  end_session_endpoint: string
}

/**
 * `SignInAttempt` is the state of one sign-in. It contains the values that the response of the server is checked
 * against, and the address of the page to return to.
 */
type SignInAttempt = { state: string; verifier: string; address: string }

type Tokens = { access_token: string; expires_in: number; refresh_token: string }

export function readMetadata(): Promise<Metadata> {
  return send('/.well-known/oauth-authorization-server')
}

/** Returns true when a user has signed in with this browser before and has not signed out. */
export function wasSignedIn(): boolean {
  return localStorage.getItem(signedInKey) !== null
}

/** Calls the listener when the user signs out in another window. */
export function onSignedOutElsewhere(listener: () => void): () => void {
  const onStorage = ({ key, newValue }: StorageEvent) => {
    if (key === signedInKey && newValue === null) listener()
  }
  addEventListener('storage', onStorage)
  return () => removeEventListener('storage', onStorage)
}

/**
 * Redirects to the sign-in page. With `silent`, the server redirects back immediately if the user would have to enter
 * something on that page.
 */
export async function beginSignIn(metadata: Metadata, { silent = false } = {}): Promise<void> {
  const address = `${location.pathname}${location.search}${location.hash}`
  const attempt: SignInAttempt = { state: randomText(), verifier: randomText(), address }
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

/** Handles the redirect from the sign-in page. Returns undefined if the user has to sign in. */
export async function finishSignIn(metadata: Metadata): Promise<Session | undefined> {
  const answer = new URLSearchParams(location.search)
  const attempt = takeAttempt()
  history.replaceState(null, '', consoleAddress(attempt?.address))
  if (attempt === undefined || answer.get('state') !== attempt.state) {
    throw signInFailure('This sign-in was not started in this browser, or has already finished')
  }
  if (answer.get('iss') !== metadata.issuer) throw signInFailure('The response was issued by another server')
  const code = answer.get('code')
  if (code === null) {
    localStorage.removeItem(signedInKey)
    if (answer.get('error') === 'login_required') return undefined
    throw signInFailure(
      answer.get('error_description') ?? 'The server rejected the sign-in',
      answer.get('error') ?? undefined,
    )
  }
  const tokens = await requestTokens(metadata, {
    grant_type: 'authorization_code',
    code,
    code_verifier: attempt.verifier,
    redirect_uri: redirectUri(),
  })
  localStorage.setItem(signedInKey, 'yes')
  return new Session(metadata, tokens)
}

/** Returns the stored attempt and deletes it, so that it can be used only once. */
function takeAttempt(): SignInAttempt | undefined {
  const text = sessionStorage.getItem(attemptKey)
  sessionStorage.removeItem(attemptKey)
  return text === null ? undefined : JSON.parse(text)
}

/** Returns the address of the page to return to. An address outside of the console is replaced by the start page. */
function consoleAddress(address: string | undefined): string {
  return address?.startsWith('/console/') ? address : '/console/'
}

function signInFailure(detail: string, code = 'unauthenticated'): Failure {
  return new Failure({ title: 'Not signed in', detail, code })
}

function redirectUri(): string {
  return `${location.origin}/auth/callback`
}

function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function requestTokens(metadata: Metadata, grant: Record<string, string>): Promise<Tokens> {
  const body = new URLSearchParams({ client_id: clientId, ...grant })
  return send(new URL(metadata.token_endpoint).pathname, { method: 'POST', body })
}

/** `Session` holds the tokens of a signed-in user and sends requests with them. */
export class Session {
  readonly #metadata: Metadata
  #tokens: Tokens
  #renewAt = 0
  #renewing: Promise<void> | undefined
  /** Is called when the session has ended and the user must sign in again. */
  onEnded: () => void = () => {}

  constructor(metadata: Metadata, tokens: Tokens) {
    this.#metadata = metadata
    this.#tokens = tokens
    this.#setTokens(tokens)
  }

  /**
   * Sends a request with the access token. If the server rejects the token, the token is renewed and the request is
   * repeated.
   */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    if (performance.now() > this.#renewAt) await this.#renew()
    try {
      return await request(path, this.#signed(init))
    } catch (error) {
      if (!(error instanceof Failure && error.status === 401)) throw error
      await this.#renew()
      return request(path, this.#signed(init))
    }
  }

  /** Ends the session on the server and in this browser. */
  async signOut(): Promise<void> {
    const body = new URLSearchParams({ refresh_token: this.#tokens.refresh_token })
    await send(new URL(this.#metadata.end_session_endpoint).pathname, { method: 'POST', body })
    localStorage.removeItem(signedInKey)
  }

  #signed(init: RequestInit): RequestInit {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${this.#tokens.access_token}`)
    return { ...init, headers }
  }

  /** Renews the tokens. Concurrent requests share one renewal, because each refresh token can be used only once. */
  #renew(): Promise<void> {
    const grant = { grant_type: 'refresh_token', refresh_token: this.#tokens.refresh_token }
    this.#renewing ??= requestTokens(this.#metadata, grant)
      .then((tokens) => this.#setTokens(tokens))
      .catch((error) => {
        if (!(error instanceof Failure && error.status === 400)) throw error
        localStorage.removeItem(signedInKey)
        this.onEnded()
        throw new Failure({ title: 'Session ended', detail: 'Sign in again', code: 'unauthenticated' })
      })
      .finally(() => {
        this.#renewing = undefined
      })
    return this.#renewing
  }

  #setTokens(tokens: Tokens): void {
    this.#tokens = tokens
    this.#renewAt = performance.now() + tokens.expires_in * 1000 - renewBeforeMs
  }
}
