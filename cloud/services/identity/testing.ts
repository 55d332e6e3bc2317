import { createHash, randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { RawAnswer, RequestTarget, TestHub } from '../../platform/testing/hub.ts'
import { plantedWord } from '../../platform/testing/secrets-shown.ts'
import { createUser } from './accounts/accounts.ts'

export const rightPassword = `a ${plantedWord} for the door`
export const wrongPassword = `not the ${plantedWord} at all`

const formType = 'application/x-www-form-urlencoded'

export function postForm(
  hub: RequestTarget,
  path: string,
  {
    form,
    headers = {},
    from,
  }: { form: Record<string, string> | string; headers?: Record<string, string>; from?: string },
): Promise<RawAnswer> {
  const body = new URLSearchParams(form).toString()
  const request = { method: 'POST', path, headers: { 'content-type': formType, ...headers }, body }
  return hub.request(from === undefined ? request : { ...request, from })
}

/** Sends a token request and returns the parts of the response that tests read. */
export async function requestToken(
  hub: RequestTarget,
  form: Record<string, string>,
  { headers, from }: { headers?: Record<string, string>; from?: string } = {},
) {
  const answer = await postForm(hub, '/oauth/token', {
    form,
    ...(headers === undefined ? {} : { headers }),
    ...(from === undefined ? {} : { from }),
  })
  return { ...answer, body: answer.body as Record<string, string | undefined> }
}

export async function person(hub: TestHub, name: string, role?: string) {
  const { id } = await createUser(hub.context, hub.tenant, {
    name,
    password: rightPassword,
    displayName: 'Somebody',
    ...(role === undefined ? {} : { role }),
  })
  return { id, name, signInName: `${name}@${hub.tenant.name}` }
}

/** Stops the clock for the rest of a test, so that a wait does not end early on a slow machine. */
export function freezeClock(t: TestContext): void {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
}

export function proofKey(verifier = randomBytes(32).toString('base64url')) {
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export function authorizePath(hub: RequestTarget, parameters: Record<string, string | undefined> = {}): string {
  const query = new URLSearchParams()
  const all = {
    response_type: 'code',
    client_id: 'console',
    redirect_uri: `${hub.context.settings.baseUrl}/auth/callback`,
    state: 'xyz',
    code_challenge: proofKey().challenge,
    code_challenge_method: 'S256',
    ...parameters,
  }
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.set(name, value)
  return `/oauth/authorize?${query}`
}

type SignInInput = { name: string; password: string; headers?: Record<string, string>; from?: string }

/** `Browser` implements the parts of a browser that the sign-in needs: it stores cookies by path and fills in forms. */
export class Browser {
  readonly #hub: RequestTarget
  readonly cookies = new Map<string, { value: string; path: string; attributes: string }>()

  constructor(hub: RequestTarget) {
    this.#hub = hub
  }

  async open(path: string, headers: Record<string, string> = {}): Promise<RawAnswer> {
    const sent = { ...this.#cookieHeader(path), ...headers }
    return this.#kept(await this.#hub.request({ method: 'GET', path, headers: sent }))
  }

  /** Opens the page, fills in the form and submits it. */
  async signIn(path: string, typed: SignInInput): Promise<RawAnswer> {
    return this.submit(await this.open(path), typed)
  }

  async submit(page: RawAnswer, { name, password, headers = {}, from }: SignInInput): Promise<RawAnswer> {
    const action = unescaped(/<form method="post" action="([^"]*)"/.exec(page.text)?.[1] ?? '')
    const proof = unescaped(/name="proof" value="([^"]*)"/.exec(page.text)?.[1] ?? '')
    const answer = await postForm(this.#hub, action, {
      form: { name, password, proof },
      headers: { origin: this.#hub.context.settings.baseUrl, ...this.#cookieHeader(action), ...headers },
      ...(from === undefined ? {} : { from }),
    })
    return this.#kept(answer)
  }

  async post(path: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<RawAnswer> {
    const all = { ...this.#cookieHeader(path), ...headers }
    return this.#kept(await postForm(this.#hub, path, { form, headers: all }))
  }

  #cookieHeader(path: string): Record<string, string> {
    const sent = [...this.cookies].filter(([, { path: prefix }]) => path.startsWith(prefix))
    return sent.length === 0 ? {} : { cookie: sent.map(([name, { value }]) => `${name}=${value}`).join('; ') }
  }

  #kept(answer: RawAnswer): RawAnswer {
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = '', attributes = ''] = /^([^=]+)=([^;]*)(.*)$/.exec(line) ?? []
      const path = /Path=([^;]+)/.exec(attributes)?.[1] ?? '/'
      if (/Max-Age=0\b/.test(attributes)) this.cookies.delete(name)
      else this.cookies.set(name, { value, path, attributes })
    }
    return answer
  }
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

export function locationOf(answer: RawAnswer): URL {
  return new URL(answer.headers.get('location') ?? '')
}

/** Signs a person in and returns the first tokens. */
export async function signedIn(hub: RequestTarget, signInName: string, parameters: Record<string, string> = {}) {
  const browser = new Browser(hub)
  const tokens = await signInWith(hub, browser, { signInName, parameters })
  return { browser, ...tokens }
}

type BrowserSignIn = {
  signInName: string
  parameters?: Record<string, string>
  /** The headers of the form, for example the `User-Agent` of the browser. */
  headers?: Record<string, string>
  /** The address of the browser. */
  from?: string
}

export async function signInWith(
  hub: RequestTarget,
  browser: Browser,
  { signInName, parameters = {}, headers = {}, from }: BrowserSignIn,
) {
  const { verifier, challenge } = proofKey()
  const path = authorizePath(hub, { ...parameters, code_challenge: challenge })
  const shown = await browser.open(path)
  const typed = { name: signInName, password: rightPassword, headers, ...(from === undefined ? {} : { from }) }
  const back = shown.status === 200 ? await browser.submit(shown, typed) : shown
  const exchange = {
    grant_type: 'authorization_code',
    client_id: parameters.client_id ?? 'console',
    redirect_uri: parameters.redirect_uri ?? `${hub.context.settings.baseUrl}/auth/callback`,
    code: locationOf(back).searchParams.get('code') ?? '',
    code_verifier: verifier,
  }
  const { status, body } = await requestToken(hub, exchange)
  return { status, body, exchange, accessToken: body.access_token ?? '', refreshToken: body.refresh_token ?? '' }
}

export function refresh(hub: RequestTarget, refreshToken: string, more: Record<string, string> = {}) {
  return requestToken(hub, { grant_type: 'refresh_token', client_id: 'console', refresh_token: refreshToken, ...more })
}

/** A `fetch` for OAuth client libraries that sends requests to the hub. */
export function fetchFrom(hub: TestHub) {
  return async (url: string, init: object): Promise<Response> => {
    const request = new Request(url, init)
    const { pathname, search } = new URL(request.url)
    const body = request.method === 'GET' ? undefined : await request.text()
    const answer = await hub.request({
      method: request.method,
      path: pathname + search,
      headers: Object.fromEntries(request.headers),
      ...(body === undefined ? {} : { body }),
    })
    return new Response(answer.text === '' ? null : answer.text, { status: answer.status, headers: answer.headers })
  }
}
