import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CommandError, exitCodes } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { requestToken, type Tokens } from './token-endpoint.ts'

/** The time limit for the sign-in in the browser. */
const timeoutMs = 5 * 60_000

type SignInOptions = {
  url: string
  opensBrowser: boolean
  /** The tenant whose identity providers the sign-in page shows. */
  tenant: string | undefined
  /** With `login`, an identity provider requests the sign-in again, even if the user is signed in there. */
  prompt?: 'login'
}

/**
 * Signs in with the authorization code flow, PKCE and a loopback redirect (RFC 8252). The browser sends the code to a
 * temporary port of this machine. If this machine has no browser, the user signs in with a browser on another machine,
 * and pastes the address that this browser shows at the end.
 */
export async function signInWithBrowser(terminal: Terminal, options: SignInOptions): Promise<Tokens> {
  const { url, opensBrowser, tenant, prompt } = options
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  const finished = new AbortController()
  try {
    const address = `${url}/oauth/authorize?${new URLSearchParams({
      response_type: 'code',
      client_id: 'cli',
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(tenant === undefined ? {} : { tenant }),
      ...(prompt === undefined ? {} : { prompt }),
    })}`
    const opened = opensBrowser && openBrowser(terminal, address)
    terminal.note(
      `${opened ? 'Your browser opens. If it does not, open' : 'Open'} this address in a browser:\n\n  ${address}\n`,
    )
    const sources = [codeFromRedirect(server, { state, issuer: url })]
    if (!opened && terminal.isInteractive) sources.push(codeFromPrompt(terminal, { state, issuer: url }))
    const code = await Promise.race([...sources, failAfterTimeout(finished.signal)])
    return await requestToken(url, {
      grant_type: 'authorization_code',
      client_id: 'cli',
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    })
  } finally {
    finished.abort()
    server.close()
    server.closeAllConnections()
  }
}

type ExpectedResponse = { state: string; issuer: string }

/** Returns the code of a redirect. Throws if the redirect does not belong to this sign-in. */
export function codeIn(location: URL, { state, issuer }: ExpectedResponse): string {
  const { searchParams } = location
  if (searchParams.get('state') !== state) throw signInError('The response belongs to another sign-in.')
  const from = searchParams.get('iss')
  if (from !== null && from !== issuer) throw signInError(`The response is from ${from} instead of ${issuer}.`)
  const error = searchParams.get('error')
  if (error !== null) throw signInError(`Sign-in failed: ${searchParams.get('error_description') ?? error}.`)
  return searchParams.get('code') ?? ''
}

function signInError(sentence: string): CommandError {
  return new CommandError(sentence, { exitCode: exitCodes.denied, next: 'try again: millwright login' })
}

function codeFromRedirect(server: Server, expected: ExpectedResponse): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  server.on('request', (request, response) => {
    const location = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (location.pathname !== '/callback') return answer(response, 404, 'Page not found')
    try {
      const code = codeIn(location, expected)
      answer(response, 200, 'You are signed in. You can close this window.')
      resolve(code)
    } catch (error) {
      answer(response, 400, (error as Error).message)
      // A request with another state does not end the sign-in, because any program on this machine could send it.
      if (location.searchParams.get('state') === expected.state) reject(error)
    }
  })
  return promise
}

async function codeFromPrompt(terminal: Terminal, expected: ExpectedResponse): Promise<string> {
  const text = await terminal.prompt('Or paste the address that the browser shows at the end: ')
  if (!URL.canParse(text)) throw signInError('The pasted text is not a URL.')
  return codeIn(new URL(text), expected)
}

async function failAfterTimeout(signal: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeoutMs)
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
  throw signInError('The sign-in was not completed within five minutes.')
}

function answer(response: ServerResponse, status: number, sentence: string): void {
  const text = sentence.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    connection: 'close',
  })
  response.end(
    `<!doctype html><meta charset="utf-8"><title>Millwright</title>` +
      `<p style="font: 1.1rem system-ui, sans-serif; margin: 20vh auto; max-width: 30rem; text-align: center">${text}</p>`,
  )
}

/** Opens the address in a browser. Returns false when this machine has no desktop. */
function openBrowser({ environment }: Terminal, address: string): boolean {
  const command = openerFor(environment)
  if (command === undefined) return false
  const [program = '', ...args] = [...command, address]
  const child = spawn(program, args, { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
  return true
}

function openerFor({ DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION }: Terminal['environment']): string[] | undefined {
  if (SSH_CONNECTION !== undefined) return undefined
  if (process.platform === 'darwin') return ['open']
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return DISPLAY === undefined && WAYLAND_DISPLAY === undefined ? undefined : ['xdg-open']
}
