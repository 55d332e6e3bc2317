import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { StartError } from '../start-error.ts'

/**
 * The settings for a transit key of Vault or OpenBao. The transit key never leaves its server, which encrypts and
 * decrypts with it.
 */
export type TransitSettings = {
  address: string
  /** The path where the transit engine is mounted. */
  mount: string
  key: string
  token: string | undefined
  /** The path of the token file. The file is read for every request, because agents renew the token. */
  tokenFile: string | undefined
  namespace: string | undefined
}

const answerWithinMs = 5_000

/** `Transit` uses the public HTTP API of the transit engine. Vault and OpenBao have the same API. */
export class Transit {
  readonly #settings: TransitSettings

  constructor(settings: TransitSettings) {
    this.#settings = settings
    if (!isSafe(settings.address)) {
      throw new StartError(
        'MILLWRIGHT_VAULT_ADDRESS must start with https://, unless the server is on this machine, because keys are sent to it.',
      )
    }
    if (settings.key === '') throw new StartError('MILLWRIGHT_VAULT_KEY must name the transit key to use.')
    if (settings.token === undefined && settings.tokenFile === undefined) {
      throw new StartError('MILLWRIGHT_VAULT_TOKEN or MILLWRIGHT_VAULT_TOKEN_FILE must be set to use the transit key.')
    }
  }

  async encrypt(plain: Buffer): Promise<string> {
    const { ciphertext } = await this.#ask('encrypt', { plaintext: plain.toString('base64') })
    return textOf(ciphertext)
  }

  async decrypt(ciphertext: string): Promise<Buffer> {
    const { plaintext } = await this.#ask('decrypt', { ciphertext })
    return Buffer.from(textOf(plaintext), 'base64')
  }

  /** Encrypts a ciphertext again with the newest version of the transit key. The plain text stays on the server. */
  async rewrap(ciphertext: string): Promise<string> {
    return textOf((await this.#ask('rewrap', { ciphertext })).ciphertext)
  }

  /** Creates a new version of the transit key. Old versions can still decrypt. */
  async rotate(): Promise<void> {
    await this.#send(`keys/${encodeURIComponent(this.#settings.key)}/rotate`, {})
  }

  #ask(verb: 'encrypt' | 'decrypt' | 'rewrap', body: object): Promise<Record<string, unknown>> {
    return this.#send(`${verb}/${encodeURIComponent(this.#settings.key)}`, body)
  }

  async #send(path: string, body: object): Promise<Record<string, unknown>> {
    const { address, mount, namespace } = this.#settings
    const token = await this.#token()
    const response = await fetch(`${address}/v1/${mount}/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-vault-request': 'true',
        'x-vault-token': token,
        ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
      },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(answerWithinMs),
    }).catch((error: Error) => {
      throw new StartError(
        `Vault at ${address} cannot be reached (${reasonOf(error)}): check MILLWRIGHT_VAULT_ADDRESS and that the server runs.`,
      )
    })
    const answer: unknown = await response.json().catch(() => ({}))
    if (response.ok)
      return ((answer as { data?: Record<string, unknown> } | null)?.data ?? {}) as Record<string, unknown>
    throw new StartError(
      `Vault at ${address} refused ${mount}/${path} (${response.status}): ${advice(response.status)}.`,
    )
  }

  async #token(): Promise<string> {
    const { token, tokenFile } = this.#settings
    if (tokenFile === undefined) return token ?? ''
    const text = await readFile(tokenFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new StartError(`The token ${tokenFile} cannot be read (${error.code}): check MILLWRIGHT_VAULT_TOKEN_FILE.`)
    })
    return text.trim()
  }
}

function isSafe(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  if (protocol === 'https:') return true
  const host = hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  throw new StartError('Vault returned a response that is not from a transit key: check MILLWRIGHT_VAULT_ADDRESS.')
}

function reasonOf(error: Error): string {
  const cause = error.cause as { code?: string } | undefined
  return cause?.code ?? error.name
}

/** Returns advice for an error status. The message of the server is not shown, because it may contain a secret. */
function advice(status: number): string {
  if (status === 400)
    return 'check that MILLWRIGHT_VAULT_KEY names the key that was used, and that its policy allows decryption'
  if (status === 403) return 'check the token, and that its policy allows this path'
  if (status === 404) return 'check MILLWRIGHT_VAULT_MOUNT and MILLWRIGHT_VAULT_KEY'
  if (status === 503) return 'the server is sealed or in maintenance'
  return 'check the log of the server'
}
