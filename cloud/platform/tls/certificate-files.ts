import { type FSWatcher, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'
import { CertificateError, type CertificatePair, checkedPair, dayOf } from './certificate-pair.ts'

type Options = {
  certFile: string
  keyFile: string
  log: Log
  /** How often the files are read. Changes in their folders are noticed at once. */
  pollMs?: number
}

const defaultPollMs = 10_000
/** How long after a change in a folder the files are read, so that a program can replace both files. */
const settleMs = 100
const dayMs = 24 * 3_600_000
/** How long before its end a certificate causes a warning. */
export const warnBeforeMs = 14 * dayMs

/**
 * `CertificateFiles` reads the certificate and the key of the platform, and reads them again when they change. It compares
 * the contents, so replaced symbolic links (Kubernetes, certbot) are noticed too. A new pair is used only if it is valid.
 * Otherwise the former pair stays in use, and `warning` contains the reason.
 */
export class CertificateFiles {
  readonly #options: Options
  readonly #listeners = new Set<(pair: CertificatePair) => void>()
  readonly #watchers: FSWatcher[] = []
  readonly #poll: NodeJS.Timeout
  #settling: NodeJS.Timeout | undefined
  #checking: Promise<void> = Promise.resolve()
  #pair: CertificatePair
  #rejection: string | undefined
  #isExpiryLogged = false

  private constructor(options: Options, pair: CertificatePair) {
    this.#options = options
    this.#pair = pair
    this.#poll = setInterval(() => this.#check(), options.pollMs ?? defaultPollMs).unref()
    for (const folder of new Set([options.certFile, options.keyFile].map(dirname))) this.#watch(folder)
    this.#warnOfExpiry()
  }

  /** Reads the files. Throws a `StartError` that names the settings if they cannot be used. */
  static async open(options: Options): Promise<CertificateFiles> {
    try {
      return new CertificateFiles(options, await readPair(options))
    } catch (error) {
      const { certFile, keyFile } = options
      throw new StartError(
        `${(error as Error).message}: check MILLWRIGHT_TLS_CERT (${certFile}) and MILLWRIGHT_TLS_KEY (${keyFile}).`,
      )
    }
  }

  /** The pair in use. */
  get pair(): CertificatePair {
    return this.#pair
  }

  /** A problem of the certificate that plant IT must solve, in one sentence. */
  get warning(): string | undefined {
    if (this.#rejection !== undefined) return `The new TLS certificate is not used. ${this.#rejection}`
    const { validTo } = this.#pair.certificate
    const leftMs = Date.parse(validTo) - Date.now()
    if (leftMs > warnBeforeMs) return undefined
    return `The TLS certificate ${leftMs > 0 ? 'expires' : 'expired'} on ${dayOf(validTo)}`
  }

  /** The seconds until the certificate in use expires. Negative if it is expired. */
  get expiresInSeconds(): number {
    return Math.round((Date.parse(this.#pair.certificate.validTo) - Date.now()) / 1000)
  }

  get isRejected(): boolean {
    return this.#rejection !== undefined
  }

  /** Calls the listener with each new pair. */
  onChange(listener: (pair: CertificatePair) => void): void {
    this.#listeners.add(listener)
  }

  async close(): Promise<void> {
    clearInterval(this.#poll)
    clearTimeout(this.#settling)
    for (const watcher of this.#watchers) watcher.close()
    this.#listeners.clear()
    await this.#checking
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => {
        clearTimeout(this.#settling)
        this.#settling = setTimeout(() => this.#check(), settleMs).unref()
      })
      // Without notifications, for example on a network file system, the files are only read in intervals.
      watcher.on('error', () => watcher.close())
      this.#watchers.push(watcher)
    } catch {
      this.#options.log.debug({ folder }, 'changes of the folder are not reported')
    }
  }

  #check(): void {
    this.#checking = this.#checking.then(() => this.#readAgain())
  }

  async #readAgain(): Promise<void> {
    try {
      const pair = await readPair(this.#options)
      this.#rejection = undefined
      if (pair.cert !== this.#pair.cert || pair.key !== this.#pair.key) this.#use(pair)
      this.#warnOfExpiry()
    } catch (error) {
      const reason = error instanceof CertificateError ? error.message : 'The files cannot be read'
      if (reason !== this.#rejection)
        this.#options.log.error({ reason, file: this.#options.certFile }, 'the new TLS certificate is not used')
      this.#rejection = reason
    }
  }

  #use(pair: CertificatePair): void {
    this.#pair = pair
    this.#isExpiryLogged = false
    const { fingerprint256, validTo } = pair.certificate
    this.#options.log.warn({ fingerprint256, validTo }, 'a new TLS certificate is used')
    for (const listener of this.#listeners) listener(pair)
  }

  #warnOfExpiry(): void {
    if (this.#isExpiryLogged || this.expiresInSeconds * 1000 > warnBeforeMs) return
    this.#isExpiryLogged = true
    this.#options.log.warn({ validTo: this.#pair.certificate.validTo }, 'the TLS certificate expires soon')
  }
}

async function readPair({ certFile, keyFile }: Options): Promise<CertificatePair> {
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)])
  return checkedPair({ cert, key, now: Date.now() })
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new CertificateError(`A file of the certificate cannot be read (${code})`)
  })
}
