import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CommandError, exitCodes } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { askForToken, type Tokens } from './token-endpoint.ts'

/** How long somebody may take to type a password. */
const patienceMs = 5 * 60_000

type Wanted = { url: string; opensBrowser: boolean }

/**
 * Authorization code with PKCE and a loopback redirect, as RFC 8252 has it: the browser brings the code to a port of
 * this machine that is open for nothing else. Whoever has no browser here pastes where the browser ended up.
 */
export async function signInWithBrowser(terminal: Terminal, { url, opensBrowser }: Wanted): Promise<Tokens> {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  const pasting = new AbortController()
  try {
    const address = `${url}/oauth/authorize?${new URLSearchParams({
      response_type: 'code',
      client_id: 'cli',
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })}`
    const opened = opensBrowser && openBrowser(terminal, address)
    terminal.tell(
      `${opened ? 'Your browser opens. If it does not, open' : 'Open'} this address in a browser:\n\n  ${address}\n`,
    )
    const ways = [arrival(server, { state, issuer: url })]
    if (!opened && terminal.canAsk) ways.push(pasted(terminal, { state, issuer: url }))
    const code = await Promise.race([...ways, givenUp(pasting.signal)])
    return await askForToken(url, {
      grant_type: 'authorization_code',
      client_id: 'cli',
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    })
  } finally {
    pasting.abort()
    server.close()
    server.closeAllConnections()
  }
}

type Expected = { state: string; issuer: string }

/** The code in where the browser was sent back to; anything else is not an answer to what was asked here. */
export function codeIn(location: URL, { state, issuer }: Expected): string {
  const { searchParams } = location
  if (searchParams.get('state') !== state) throw refused('The answer belongs to another sign-in.')
  const from = searchParams.get('iss')
  if (from !== null && from !== issuer) throw refused(`The answer came from ${from} instead of ${issuer}.`)
  const error = searchParams.get('error')
  if (error !== null) throw refused(`You were not let in: ${searchParams.get('error_description') ?? error}.`)
  return searchParams.get('code') ?? ''
}

function refused(sentence: string): CommandError {
  return new CommandError(sentence, { exitCode: exitCodes.denied, next: 'start again: millwright login' })
}

function arrival(server: Server, expected: Expected): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  server.on('request', (request, response) => {
    const location = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (location.pathname !== '/callback') return answer(response, 404, 'There is nothing here.')
    try {
      const code = codeIn(location, expected)
      answer(response, 200, 'You are signed in. You can close this window.')
      resolve(code)
    } catch (error) {
      answer(response, 400, (error as Error).message)
      // A stranger's request ends nothing: only an answer to what was asked here does.
      if (location.searchParams.get('state') === expected.state) reject(error)
    }
  })
  return promise
}

async function pasted(terminal: Terminal, expected: Expected): Promise<string> {
  const text = await terminal.ask('Or paste the address that the browser shows at the end: ')
  if (!URL.canParse(text)) throw refused('That is not an address.')
  return codeIn(new URL(text), expected)
}

async function givenUp(signal: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, patienceMs)
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
  throw refused('Nobody signed in within five minutes.')
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

/** True when there is something that opens addresses, and somebody who would see it. */
function openBrowser({ environment }: Terminal, address: string): boolean {
  const command = openerFor(environment)
  if (command === undefined) return false
  const [program = '', ...given] = [...command, address]
  const child = spawn(program, given, { stdio: 'ignore', detached: true })
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
