import { Failure, isFailure } from '../api/failure.ts'
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
type SignInAttempt = {
  state: string
  verifier: string
  address: string
  /** The broadcast channel of the window that opened this window for the sign-in, and that waits for its result. */
  channel?: string
}

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
  const attempt = newAttempt()
  sessionStorage.setItem(attemptKey, JSON.stringify(attempt))
  location.assign(await authorizationUrl(metadata, attempt, silent ? 'none' : undefined))
}

function newAttempt(): SignInAttempt {
  const address = `${location.pathname}${location.search}${location.hash}`
  return { state: randomText(), verifier: randomText(), address }
}

async function authorizationUrl(metadata: Metadata, attempt: SignInAttempt, prompt?: 'none' | 'login') {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri(),
    state: attempt.state,
    code_challenge: await challengeOf(attempt.verifier),
    code_challenge_method: 'S256',
    ...(prompt && { prompt }),
  })
  return `${metadata.authorization_endpoint}?${query}`
}

/**
 * Handles the redirect from the sign-in page. Returns undefined if the user has to sign in, and `elsewhere` if another
 * window opened this window and continues the sign-in.
 */
export async function finishSignIn(metadata: Metadata): Promise<Session | 'elsewhere' | undefined> {
  const answer = new URLSearchParams(location.search)
  const attempt = takeAttempt()
  history.replaceState(null, '', consoleAddress(attempt?.address))
  if (attempt?.channel !== undefined) {
    new BroadcastChannel(attempt.channel).postMessage(String(answer))
    close()
    return 'elsewhere'
  }
  const checked = checkAnswer(metadata, attempt, answer)
  if (!answer.has('code')) localStorage.removeItem(signedInKey)
  if (answer.get('error') === 'login_required') return undefined
  const tokens = await exchangeCode(metadata, checked, answer)
  localStorage.setItem(signedInKey, 'yes')
  return new Session(metadata, tokens)
}

/** Checks that the response of the sign-in page belongs to this attempt and comes from this server. */
function checkAnswer(metadata: Metadata, attempt: SignInAttempt | undefined, answer: URLSearchParams): SignInAttempt {
  if (attempt === undefined || answer.get('state') !== attempt.state) {
    throw signInFailure('This sign-in was not started in this browser, or has already finished')
  }
  if (answer.get('iss') !== metadata.issuer) throw signInFailure('The response was issued by another server')
  return attempt
}

/** Exchanges the authorization code of a checked response for tokens. */
function exchangeCode(metadata: Metadata, attempt: SignInAttempt, answer: URLSearchParams): Promise<Tokens> {
  const code = answer.get('code')
  if (code === null) {
    throw signInFailure(
      answer.get('error_description') ?? 'The server rejected the sign-in',
      answer.get('error') ?? undefined,
    )
  }
  return requestTokens(metadata, {
    grant_type: 'authorization_code',
    code,
    code_verifier: attempt.verifier,
    redirect_uri: redirectUri(),
  })
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
  #confirming: Promise<boolean> | undefined
  /** Whether the user signs in again in another window. The server then ends the session of the current tokens. */
  #isReplaced = false
  /** Is called when the session has ended and the user must sign in again. */
  onEnded: () => void = () => {}
  /** Returns whether the user made no input for so long that the session must no longer be used. */
  isIdle: () => boolean = () => false
  /** Is called when an action requires that the user confirms their identity. Returns false if the user cancels. */
  confirmIdentity: () => Promise<boolean> = async () => false

  constructor(metadata: Metadata, tokens: Tokens) {
    this.#metadata = metadata
    this.#tokens = tokens
    this.#setTokens(tokens)
  }

  /**
   * Sends a request with the access token. If the server rejects the token, the token is renewed and the request is
   * repeated. If the server still requires that the user confirms their identity, the request is repeated once after the
   * confirmation.
   */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    if (performance.now() > this.#renewAt) await this.renew()
    try {
      return await request(path, this.#signed(init))
    } catch (error) {
      if (!(error instanceof Failure && error.status === 401)) throw error
    }
    await this.renew()
    try {
      return await request(path, this.#signed(init))
    } catch (error) {
      if (!isFailure(error, 'step_up_required') || !(await this.#confirm())) throw error
    }
    await this.renew()
    return request(path, this.#signed(init))
  }

  /**
   * Ends the session on the server and in this browser. Returns the address at which the user signs out at the identity
   * provider, if the user signed in with one.
   */
  async signOut(): Promise<string | undefined> {
    const answer = await this.#endSession(this.#tokens)
    localStorage.removeItem(signedInKey)
    return answer?.endSessionUrl
  }

  /**
   * Opens a window in which the user signs in again, and continues with the new session. The page keeps its state. The
   * function throws a `Failure` if another user signs in, and never returns if the user closes the window.
   */
  async signInAgain({ userId, signal }: { userId: string; signal: AbortSignal }): Promise<void> {
    const attempt: SignInAttempt = { ...newAttempt(), channel: randomText() }
    const answer = nextMessage(String(attempt.channel), signal)
    this.#isReplaced = true
    const url = await authorizationUrl(this.#metadata, attempt, 'login')
    // The new window gets a copy of the session storage.
    sessionStorage.setItem(attemptKey, JSON.stringify(attempt))
    open(url, '_blank', 'popup,width=520,height=720')
    sessionStorage.removeItem(attemptKey)
    const received = new URLSearchParams(await answer)
    const tokens = await exchangeCode(this.#metadata, checkAnswer(this.#metadata, attempt, received), received)
    const user = await send<{ sub: string }>('/oauth/userinfo', { headers: authorizationOf(tokens) })
    if (user.sub === userId) return this.#setTokens(tokens)
    await this.#endSession(tokens)
    throw signInFailure('Another user signed in. Sign in with the account that you use here')
  }

  /** Requests the confirmation once for all calls that need it at the same time. */
  #confirm(): Promise<boolean> {
    this.#confirming ??= this.confirmIdentity().finally(() => {
      this.#confirming = undefined
      this.#isReplaced = false
    })
    return this.#confirming
  }

  #endSession({ refresh_token }: Tokens): Promise<{ endSessionUrl: string } | undefined> {
    const body = new URLSearchParams({ refresh_token })
    return send(new URL(this.#metadata.end_session_endpoint).pathname, { method: 'POST', body })
  }

  #signed(init: RequestInit): RequestInit {
    const headers = new Headers(init.headers)
    headers.set('authorization', authorizationOf(this.#tokens).authorization)
    return { ...init, headers }
  }

  /** Renews the tokens. Concurrent requests share one renewal, because each refresh token can be used only once. */
  renew(): Promise<void> {
    this.#renewing ??= this.#requestRenewal().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #requestRenewal(): Promise<void> {
    const ended = new Failure({ title: 'Session ended', detail: 'Sign in again', code: 'unauthenticated' })
    if (this.#isReplaced) await this.#confirming
    if (this.isIdle()) throw ended
    try {
      const grant = { grant_type: 'refresh_token', refresh_token: this.#tokens.refresh_token }
      this.#setTokens(await requestTokens(this.#metadata, grant))
    } catch (error) {
      if (!(error instanceof Failure && error.status === 400)) throw error
      localStorage.removeItem(signedInKey)
      this.onEnded()
      throw ended
    }
  }

  #setTokens(tokens: Tokens): void {
    this.#tokens = tokens
    this.#renewAt = performance.now() + tokens.expires_in * 1000 - renewBeforeMs
  }
}

function authorizationOf({ access_token }: Tokens): { authorization: string } {
  return { authorization: `Bearer ${access_token}` }
}

/** Returns the next message of a broadcast channel. */
function nextMessage(name: string, signal: AbortSignal): Promise<string> {
  const channel = new BroadcastChannel(name)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  channel.onmessage = ({ data }) => resolve(String(data))
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise.finally(() => channel.close())
}
