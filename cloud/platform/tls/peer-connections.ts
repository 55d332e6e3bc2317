import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Agent } from 'undici'
import { StartError } from '../start-error.ts'
import { undici } from '../undici.ts'
import { certificatesIn } from './certificate-pair.ts'

/**
 * `PeerConnections` makes the connections to other processes of the platform. With an authority, it accepts only
 * certificates of this authority. Without one, the authorities of Node apply.
 */
export class PeerConnections {
  /** The TLS options of a connection. */
  readonly tls: { readonly ca?: string; readonly minVersion: 'TLSv1.2' }
  readonly fetch: typeof fetch
  readonly #agent: Agent | undefined

  constructor({ authority }: { authority: string | undefined }) {
    this.tls = { minVersion: 'TLSv1.2', ...(authority === undefined ? {} : { ca: authority }) }
    if (authority === undefined) {
      this.fetch = fetch
      return
    }
    const { Agent, fetch: fetchWith } = undici()
    const agent = new Agent({ connect: { ...this.tls } })
    this.#agent = agent
    this.fetch = ((input: string | URL, init?: object) =>
      fetchWith(input, { ...init, dispatcher: agent })) as unknown as typeof fetch
  }

  /**
   * Returns the TLS options of a request to a URL whose header `Host` names another host. The certificate must be the one
   * of the URL.
   */
  tlsFor({ hostname }: URL): PeerConnections['tls'] & { servername: string } {
    const host = hostname.replace(/^\[|\]$/g, '')
    return { ...this.tls, servername: isIP(host) === 0 ? host : '' }
  }

  async close(): Promise<void> {
    await this.#agent?.destroy()
  }
}

/** Reads the file of MILLWRIGHT_TLS_AUTHORITY. Returns undefined if the setting is not set. */
export async function readAuthority(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  const text = await readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new StartError(`MILLWRIGHT_TLS_AUTHORITY cannot be read (${code}): check the path ${file}.`)
  })
  if (isAuthority(text)) return text
  throw new StartError(`MILLWRIGHT_TLS_AUTHORITY (${file}) contains no certificate in PEM format: check the file.`)
}

function isAuthority(text: string): boolean {
  try {
    return certificatesIn(text).length > 0
  } catch {
    return false
  }
}
